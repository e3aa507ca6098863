#include <gtest/gtest.h>

#include "kernels/expert_rows.h"
#include "memory.h"
#include "support.h"

namespace afore::kernels {
namespace {

struct Sizes {
  std::int32_t tokens, top_k, hidden;
};
std::size_t product(std::int32_t a, std::int32_t b, std::int32_t c = 1) {
  return static_cast<std::size_t>(a) * static_cast<std::size_t>(b) * static_cast<std::size_t>(c);
}

TEST(CombineExact, IsItsTwins) {
  Numbers numbers(1);
  for (const Sizes& s : {Sizes{0, 8, 8}, Sizes{1, 1, 8}, Sizes{3, 8, 24}, Sizes{2, 32, 1048}})
    for (const bool with_shared : {false, true}) {
      const Memory<float> weights(numbers.floats(product(s.tokens, s.top_k)));
      const Memory<float> y(numbers.floats(product(s.tokens, s.top_k, s.hidden)));
      const Memory<float> shared(numbers.floats(product(s.tokens, s.hidden)));
      const std::vector<float> residual = numbers.floats(product(s.tokens, s.hidden));
      Memory<float> expected(residual);
      const float* shared_or_null = with_shared ? shared.data() : nullptr;
      twin::combine_exact(weights.data(), y.data(), shared_or_null, s.tokens, s.top_k, s.hidden, expected.data());
      for_schedules([&] {
        Memory<float> out(residual);
        combine_exact(weights.data(), y.data(), shared_or_null, s.tokens, s.top_k, s.hidden, out.data(), nullptr);
        EXPECT_TRUE(same_bytes(out, expected));
      });
    }
}

// (1 * 2^24 + 1 * 1 + 1 * 1) is 2^24, since the sum grows in the order of k; the residual's -2^24 comes after it.
TEST(CombineExact, AddsInOrder) {
  const std::vector<float> weights = {1, 1, 1};
  std::vector<float> y(3 * 8), residual(8, -0x1p24f);
  const std::vector<float> shared(8, 0.25f);
  std::fill_n(y.begin(), 8, 0x1p24f);
  std::fill_n(y.begin() + 8, 16, 1.0f);
  combine_exact(weights.data(), y.data(), shared.data(), 1, 3, 8, residual.data(), nullptr);
  EXPECT_EQ(residual, std::vector<float>(8, 0.25f));
}

// What a worker that is not used has there is not read, be it no numbers.
TEST(CombinePartial, IsItsTwins) {
  Numbers numbers(2);
  struct Case {
    std::int32_t workers, tokens, hidden;
    std::vector<std::uint32_t> used;
  };
  for (const Case& c : {Case{1, 1, 8, {1}}, Case{4, 3, 24, {0b1010}}, Case{3, 0, 8, {7}}, Case{3, 2, 8, {0}},
                        Case{33, 2, 1048, {0x80000001u, 1}}, Case{2, 1, 8, {0xfffffffeu}}})
    for (const bool with_shared : {false, true}) {
      std::vector<float> y = numbers.floats(product(c.workers, c.tokens, c.hidden));
      const auto per_worker = static_cast<std::ptrdiff_t>(product(c.tokens, c.hidden));
      for (int w = 0; w < c.workers; ++w)
        if ((c.used[static_cast<std::size_t>(w / 32)] >> w % 32 & 1) == 0)
          std::fill_n(y.begin() + w * per_worker, per_worker, kNaN);
      const Memory<float> in(y), shared(numbers.floats(product(c.tokens, c.hidden)));
      const Memory<std::uint32_t> used(c.used);
      const std::vector<float> residual = numbers.floats(product(c.tokens, c.hidden));
      const float* shared_or_null = with_shared ? shared.data() : nullptr;
      Memory<float> expected(residual);
      twin::combine_partial(in.data(), used.data(), c.workers, shared_or_null, c.tokens, c.hidden, expected.data());
      EXPECT_TRUE(std::none_of(expected.begin(), expected.end(), [](float v) { return v != v; }));
      for_schedules([&] {
        Memory<float> out(residual);
        combine_partial(in.data(), used.data(), c.workers, shared_or_null, c.tokens, c.hidden, out.data(), nullptr);
        EXPECT_TRUE(same_bytes(out, expected));
      });
    }
}

}  // namespace
}  // namespace afore::kernels
