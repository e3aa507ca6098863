#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "cpu_support.h"
#include "device/cpu/exp.h"

namespace afore::device::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(CpuExp, WithinTwoUnitsInTheLastPlace) {
  for (float x = -87.3f; x < 88.3f; x += 0.00137f) {
    const double exact = std::exp(static_cast<double>(x));
    const double unit = std::ldexp(1, std::ilogb(exact) - 23);
    ASSERT_NEAR(exp_f32(x), exact, 2 * unit) << x;
  }
  EXPECT_EQ(exp_f32(0), 1);
  EXPECT_EQ(exp_f32(-90), 0);
  EXPECT_EQ(exp_f32(-kInfinity), 0);
  EXPECT_TRUE(std::isfinite(exp_f32(kInfinity)));
  EXPECT_TRUE(std::isnan(exp_f32(std::numeric_limits<float>::quiet_NaN())));
}

class CpuVectors : public testing::TestWithParam<Isa> {
 protected:
  const Kernels& kernels = Kernels::of(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Isas, CpuVectors, testing::ValuesIn(isas()), name_of);

TEST_P(CpuVectors, DotIsNearTheExactSumWhereverItLies) {
  Rng rng(1);
  for (std::int64_t n = 0; n < 70; ++n) {
    const std::vector<float> a = noise(rng, n), b = noise(rng, n);
    double exact = 0, size = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      exact += static_cast<double>(a[i]) * b[i];
      size += std::abs(static_cast<double>(a[i]) * b[i]);
    }
    const float dot = kernels.dot(a.data(), b.data(), n);
    ASSERT_NEAR(dot, exact, size * 10 * std::ldexp(1, -24)) << n;  // 5 rounded products and 5 sums to a lane, at most
    for (int shift = 1; shift < 16; ++shift) {
      std::vector<float> moved(static_cast<std::size_t>(n + shift));
      std::ranges::copy(a, moved.begin() + shift);
      ASSERT_EQ(kernels.dot(moved.data() + shift, b.data(), n), dot) << n << " moved by " << shift;
    }
  }
}

TEST_P(CpuVectors, DotSumsSixteenLanesByHalves) {
  // Lane i holds 2^i: only sums of halves lose nothing but what this order loses.
  std::vector<float> a(40, 0.0f), ones(40, 1.0f);
  float expected[16] = {};
  for (int i = 0; i < 40; ++i) {
    a[i] = std::ldexp(1.0f, i % 3 == 0 ? 25 : -1) * (i % 2 == 0 ? 1.0f : -1.0f);
    expected[i % 16] += a[i];
  }
  for (int half = 8; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) expected[i] += expected[i + half];
  EXPECT_EQ(kernels.dot(a.data(), ones.data(), 40), expected[0]);
}

TEST_P(CpuVectors, AxpyAddsToEachAndTouchesNoOther) {
  Rng rng(2);
  for (std::int64_t n = 0; n < 40; ++n) {
    const std::vector<float> x = noise(rng, n), before = noise(rng, n + 3);
    std::vector<float> y = before;
    kernels.axpy(0.37f, x.data(), y.data(), n);
    for (std::int64_t i = 0; i < n; ++i)
      ASSERT_NEAR(y[i], before[i] + 0.37f * static_cast<double>(x[i]), 3e-7 * (std::abs(before[i]) + std::abs(x[i])));
    EXPECT_TRUE(same_bits(y.data() + n, before.data() + n, 3));
  }
}

TEST_P(CpuVectors, RmsNormAlsoInPlace) {
  Rng rng(3);
  for (const std::int64_t n : {1, 15, 16, 17, 256, 1000}) {
    const std::vector<float> x = noise(rng, n, 3), weight = noise(rng, n);
    double squares = 0;
    for (const float v : x) squares += static_cast<double>(v) * v;
    const double scale = 1 / std::sqrt(squares / static_cast<double>(n) + 1e-5);
    std::vector<float> y(x.size());
    kernels.rms_norm(x.data(), weight.data(), 1e-5f, y.data(), n);
    for (std::int64_t i = 0; i < n; ++i)
      ASSERT_NEAR(y[i], x[i] * scale * weight[i], std::abs(y[i]) * 4e-6 + 1e-30) << n << " " << i;
    std::vector<float> in_place = x;
    kernels.rms_norm(in_place.data(), weight.data(), 1e-5f, in_place.data(), n);
    EXPECT_EQ(in_place, y);
  }
}

TEST_P(CpuVectors, SoftmaxIsNearTheExactOne) {
  Rng rng(4);
  for (const std::int64_t n : {1, 2, 16, 17, 300, 1000}) {
    const std::vector<float> x = noise(rng, n, 5);
    double sum = 0;
    const double most = *std::ranges::max_element(x);
    for (const float v : x) sum += std::exp(v - most);
    std::vector<float> y = x;
    kernels.softmax(y.data(), n);
    for (std::int64_t i = 0; i < n; ++i) {
      const double exact = std::exp(x[i] - most) / sum;
      ASSERT_NEAR(y[i], exact, exact * 4e-6) << n << " " << i;
    }
  }
  std::vector<float> wide = {1000, 1000, -1000, -kInfinity};
  kernels.softmax(wide.data(), 4);
  EXPECT_EQ(wide, (std::vector<float>{0.5f, 0.5f, 0, 0}));
}

TEST_P(CpuVectors, SoftmaxShowsANan) {
  for (const std::size_t at : {std::size_t{0}, std::size_t{9}, std::size_t{18}}) {
    std::vector<float> x(20, 1.0f);
    x[at] = std::numeric_limits<float>::quiet_NaN();
    kernels.softmax(x.data(), 20);
    EXPECT_TRUE(std::isnan(x[at])) << at;
  }
}

TEST(CpuScratch, KeepsItsMemoryAlignedAndBySlot) {
  Scratch scratch;
  std::byte* first = scratch.get(0, 100);
  std::byte* other = scratch.get(1, 100);
  EXPECT_NE(first, other);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 64, 0u);
  EXPECT_EQ(scratch.get(0, 10), first);
  EXPECT_EQ(scratch.get(0, 100), first);
  std::byte* larger = scratch.get(0, 10'000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(larger) % 64, 0u);
  larger[9'999] = std::byte{1};
  EXPECT_EQ(scratch.get(1, 1), other);
}

}  // namespace
}  // namespace afore::device::cpu
