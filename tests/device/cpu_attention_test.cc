#include "device/cpu/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "cpu_support.h"
#include "util/error.h"

namespace afore::device::cpu {
namespace {

struct Case {
  AttentionShape shape;
  int positions;
};

// A sequence in pages that lie anywhere in a cache full of NaN.
struct Sequence {
  Sequence(Rng& rng, AttentionShape of, int count)
      : shape(of),
        keys(noise(rng, std::int64_t{count} * of.kv_heads * of.head_dim)),
        values(noise(rng, std::int64_t{count} * of.kv_heads * of.head_dim)) {
    const int needed = (count + kPageTokens - 1) / kPageTokens;
    for (int p = 0; p < needed; ++p) pages.push_back((p * 5 + 3) % 11 + p / 11 * 11);
    cache.assign(static_cast<std::size_t>((needed + 12) * shape.page_floats()),
                 std::numeric_limits<float>::quiet_NaN());
    for (int position = 0; position < count; ++position) store(position);
  }
  void store(std::int64_t position) {
    const std::int64_t row = position * shape.kv_heads * shape.head_dim;
    store_kv(shape, keys.data() + row, values.data() + row, pages, position, cache.data());
  }

  AttentionShape shape;
  std::vector<float> keys, values;
  std::vector<std::int32_t> pages;
  std::vector<float> cache;
};

class CpuAttention : public testing::TestWithParam<Isa> {
 protected:
  const Kernels& kernels = Kernels::of(GetParam());
  Scratch scratch;

  std::vector<float> attend_at(const Sequence& s, const std::vector<float>& query, std::int64_t position) {
    std::vector<float> out(query.size(), -1.0f);
    attend(kernels, s.shape, query.data(), s.cache.data(), s.pages, position, out.data(), scratch);
    return out;
  }
};

INSTANTIATE_TEST_SUITE_P(Isas, CpuAttention, testing::ValuesIn(isas()), name_of);

void expect_near_exact(const Sequence& s, const std::vector<float>& query, std::int64_t position,
                       const std::vector<float>& out) {
  const auto [heads, kv_heads, dim] = s.shape;
  for (int h = 0; h < heads; ++h) {
    const std::int64_t kv = h / (heads / kv_heads);
    std::vector<double> weight(static_cast<std::size_t>(position) + 1);
    double most = -1e300, sum = 0;
    for (std::int64_t t = 0; t <= position; ++t) {
      for (int d = 0; d < dim; ++d)
        weight[t] += static_cast<double>(query[h * dim + d]) * s.keys[(t * kv_heads + kv) * dim + d];
      weight[t] /= std::sqrt(static_cast<double>(dim));
      most = std::max(most, weight[t]);
    }
    for (double& w : weight) {
      w = std::exp(w - most);
      sum += w;
    }
    for (int d = 0; d < dim; ++d) {
      double exact = 0, size = 0;
      for (std::int64_t t = 0; t <= position; ++t) {
        const double term = weight[t] / sum * s.values[(t * kv_heads + kv) * dim + d];
        exact += term;
        size += std::abs(term);
      }
      // Scores of magnitude 10 are off by some 1e-6, and so are the weights.
      ASSERT_NEAR(out[h * dim + d], exact, 2e-5 * size + 1e-7) << "head " << h << ", " << d << ", at " << position;
    }
  }
}

TEST_P(CpuAttention, IsNearTheExactValueOverPages) {
  const Case cases[] = {{{8, 2, 32}, 50}, {{4, 4, 16}, 33}, {{6, 2, 24}, 20}, {{12, 2, 40}, 17},
                        {{5, 1, 64}, 16}, {{1, 1, 1}, 5},   {{2, 1, 8}, 31}};
  for (const Case& c : cases) {
    Rng rng(1);
    const Sequence s(rng, c.shape, c.positions);
    for (const int position : {0, c.positions / 2, c.positions - 1}) {
      const std::vector<float> query = noise(rng, std::int64_t{c.shape.heads} * c.shape.head_dim, 2);
      expect_near_exact(s, query, position, attend_at(s, query, position));
    }
  }
}

// Of a token decoded and of the same token as part of a longer sequence, wherever the pages are.
TEST_P(CpuAttention, LaterPositionsAndOtherPagesDoNotMatter) {
  Rng rng(2), again(2);
  const AttentionShape shape{8, 2, 24};
  const Sequence longer(rng, shape, 60);
  const std::vector<float> query = noise(rng, 8 * 24);
  Sequence moved = longer;
  std::ranges::reverse(moved.pages);
  std::ranges::fill(moved.cache, std::numeric_limits<float>::quiet_NaN());
  for (int position = 0; position < 60; ++position) {
    moved.store(position);
    EXPECT_EQ(attend_at(moved, query, position), attend_at(longer, query, position)) << position;
  }
}

TEST_P(CpuAttention, APositionWithoutAPageIsOurBug) {
  Rng rng(3);
  Sequence s(rng, {2, 1, 8}, 16);
  const std::vector<float> query = noise(rng, 16);
  EXPECT_THROW(attend_at(s, query, 16), Error);
  EXPECT_THROW(s.store(16), Error);
}

TEST(CpuRotary, TurnsHalvesByTheirAngles) {
  const RotaryTable table(4, 10000, 8);
  // Two heads of 6; the first four of each turn, x[i] with x[i + 2], by 3 * 1 and 3 * 10000^(-2/4) = 0.03.
  std::vector<float> x = {1, 2, 3, 4, 5, 6, -1, 0, 0, 1, 7, 8};
  table.apply(x.data(), 2, 6, 3);
  const double a = 3, b = 0.03;
  const double expected[] = {1 * std::cos(a) - 3 * std::sin(a),
                             2 * std::cos(b) - 4 * std::sin(b),
                             3 * std::cos(a) + 1 * std::sin(a),
                             4 * std::cos(b) + 2 * std::sin(b),
                             5,
                             6,
                             -std::cos(a),
                             -std::sin(b),
                             -std::sin(a),
                             std::cos(b),
                             7,
                             8};
  for (int i = 0; i < 12; ++i) EXPECT_NEAR(x[i], expected[i], 1e-6) << i;
}

TEST(CpuRotary, AnglesAreRoundedAsTransformersRoundsThem) {
  // float32 throughout: inverse frequencies, then their product with the position.
  const RotaryTable table(16, 1'000'000, 4096);
  for (int i = 0; i < 8; ++i) {
    const float inverse = 1.0f / std::pow(1e6f, static_cast<float>(2 * i) / 16);
    const float angle = 4095.0f * inverse;
    std::vector<float> x(16, 0.0f);
    x[i] = 1;
    table.apply(x.data(), 1, 16, 4095);
    EXPECT_NEAR(x[i], std::cos(angle), 1e-3) << i;  // pow of the C library may be one unit off, 1.2e-7 of 4095
    EXPECT_NEAR(x[i + 8], std::sin(angle), 1e-3) << i;
  }
}

TEST(CpuRotary, PositionZeroAndNoDimensionsTurnNothing) {
  std::vector<float> x = {1, 2, 3, 4};
  RotaryTable(4, 10000, 1).apply(x.data(), 1, 4, 0);
  EXPECT_EQ(x, (std::vector<float>{1, 2, 3, 4}));
  RotaryTable(0, 10000, 9).apply(x.data(), 1, 4, 5);
  EXPECT_EQ(x, (std::vector<float>{1, 2, 3, 4}));
  EXPECT_THROW(RotaryTable(4, 10000, 9).apply(x.data(), 1, 4, 9), Error);
}

}  // namespace
}  // namespace afore::device::cpu
