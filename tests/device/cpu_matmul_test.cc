#include <gtest/gtest.h>

#include "cpu_support.h"
#include "device/cpu/thread_pool.h"
#include "util/error.h"

namespace afore::device::cpu {
namespace {

TEST(CpuPack, PanelsOfSixteenRowsPairsOfK) {
  // 18 x 3: two panels of two pairs; the value of row r and column c is 100 r + c.
  std::vector<std::uint16_t> rows;
  for (int r = 0; r < 18; ++r)
    for (int c = 0; c < 3; ++c) rows.push_back(static_cast<std::uint16_t>(100 * r + c + 1));
  ASSERT_EQ(packed_bytes(18, 3), 2u * 2 * 16 * 2 * 2);
  std::vector<std::uint16_t> packed(packed_bytes(18, 3) / 2, 0xffff);
  pack(rows, 18, 3, reinterpret_cast<std::byte*>(packed.data()));
  for (int r = 0; r < 32; ++r)
    for (int c = 0; c < 4; ++c) {
      const int expected = r < 18 && c < 3 ? 100 * r + c + 1 : 0;
      EXPECT_EQ(packed[static_cast<std::size_t>(((r / 16 * 2 + c / 2) * 16 + r % 16) * 2 + c % 2)], expected) << r << c;
    }
}

TEST(CpuIsa, NamesReadBackAndOthersAreRefused) {
  for (const Isa isa : isas()) EXPECT_EQ(parse_isa(to_string(isa)), isa);
  EXPECT_TRUE(is_supported(best_isa()));
  EXPECT_THROW(parse_isa("sse9"), Error);
}

class CpuMatmul : public testing::TestWithParam<Isa> {
 protected:
  const Kernels& kernels = Kernels::of(GetParam());
  Scratch scratch;

  std::vector<float> multiply(const float* x, std::int64_t rows, const Matrix& w, ThreadPool* pool = nullptr) {
    std::vector<float> y(static_cast<std::size_t>(rows * w.n), -1.0f);
    kernels.matmul(x, w.k, rows, w.view(), y.data(), w.n, scratch, pool);
    return y;
  }
};

INSTANTIATE_TEST_SUITE_P(Isas, CpuMatmul, testing::ValuesIn(isas()), name_of);

struct Size {
  std::int64_t n, k;
};
const Size kSizes[] = {{1, 1}, {16, 2}, {17, 3}, {5, 33}, {48, 31}, {150, 64}, {33, 257}, {129, 130}};

TEST_P(CpuMatmul, IsNearTheExactProduct) {
  Rng rng(1);
  for (const auto [n, k] : kSizes) {
    const Matrix w(rng, n, k);
    const std::vector<float> x = noise(rng, 11 * k);
    const std::vector<float> y = multiply(x.data(), 11, w);
    for (std::int64_t r = 0; r < 11; ++r)
      for (std::int64_t i = 0; i < n; ++i) {
        Bounded exact;
        for (std::int64_t c = 0; c < k; ++c) exact.add(x[r * k + c], w.at(i, c));
        ASSERT_NEAR(y[r * n + i], exact.value, exact.tolerance(k)) << n << " x " << k << ", row " << r << ", " << i;
      }
  }
}

TEST_P(CpuMatmul, ARowDoesNotDependOnItsBatch) {
  Rng rng(2);
  for (const auto [n, k] : kSizes) {
    const Matrix w(rng, n, k);
    const std::vector<float> x = noise(rng, 40 * k);
    std::vector<float> alone;
    for (int r = 0; r < 40; ++r) {
      const std::vector<float> row = multiply(x.data() + r * k, 1, w);
      alone.insert(alone.end(), row.begin(), row.end());
    }
    for (int rows = 1; rows <= 40; ++rows) {
      const int first = static_cast<int>(rng.below(static_cast<std::uint64_t>(41 - rows)));
      const std::vector<float> y = multiply(x.data() + first * k, rows, w);
      ASSERT_TRUE(same_bits(y.data(), alone.data() + first * n, rows * n)) << n << " x " << k << ", rows " << rows;
    }
  }
}

// Large enough to be cut: into panels, and, with many rows, into tiles where activations are prepared.
TEST_P(CpuMatmul, ThreadsDoNotChangeIt) {
  Rng rng(3);
  const struct {
    std::int64_t n, k;
    int rows;
  } cases[] = {{1400, 515, 1}, {700, 515, 6}, {700, 515, 37}, {20, 515, 600}};
  for (const auto& c : cases) {
    const Matrix w(rng, c.n, c.k);
    const std::vector<float> x = noise(rng, c.rows * c.k);
    const std::vector<float> expected = multiply(x.data(), c.rows, w);
    for (int threads = 1; threads <= 4; ++threads) {
      ThreadPool pool(threads);
      EXPECT_EQ(multiply(x.data(), c.rows, w, &pool), expected) << c.rows << " rows, " << threads << " threads";
    }
  }
}

TEST_P(CpuMatmul, KeepsToItsStrides) {
  Rng rng(4);
  const Matrix w(rng, 21, 10);
  const std::vector<float> x = noise(rng, 3 * 14);
  std::vector<float> y(3 * 30, -7.0f);
  kernels.matmul(x.data(), 14, 3, w.view(), y.data(), 30, scratch, nullptr);
  for (int r = 0; r < 3; ++r) {
    EXPECT_TRUE(same_bits(y.data() + r * 30, multiply(x.data() + r * 14, 1, w).data(), 21)) << r;
    for (int i = 21; i < 30; ++i) EXPECT_EQ(y[r * 30 + i], -7.0f) << r << " " << i;
  }
}

TEST_P(CpuMatmul, NoRowsIsNothing) {
  Rng rng(5);
  const Matrix w(rng, 4, 4);
  kernels.matmul(nullptr, 4, 0, w.view(), nullptr, 4, scratch, nullptr);
}

// What is not finite must be seen in the row, and in no other.
TEST_P(CpuMatmul, ANanStaysInItsRow) {
  Rng rng(6);
  const Matrix w(rng, 20, 40);
  std::vector<float> x = noise(rng, 9 * 40);
  const std::vector<float> before = multiply(x.data(), 9, w);
  x[4 * 40 + 13] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> after = multiply(x.data(), 9, w);
  for (int r = 0; r < 9; ++r)
    for (int i = 0; i < 20; ++i) {
      if (r == 4) EXPECT_TRUE(std::isnan(after[r * 20 + i]));
      else EXPECT_EQ(after[r * 20 + i], before[r * 20 + i]);
    }
}

}  // namespace
}  // namespace afore::device::cpu
