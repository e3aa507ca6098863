#include "util/fmath.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "util/rng.h"

namespace afore {
namespace {

// Distance in representable doubles, for values of one sign.
std::int64_t ulps(double a, double b) {
  return std::abs(std::bit_cast<std::int64_t>(a) - std::bit_cast<std::int64_t>(b));
}

TEST(Fmath, ExpFollowsTheCLibrary) {
  Rng rng(1);
  std::int64_t worst = 0;
  for (int i = 0; i < 200'000; ++i) {
    const double x = (rng.uniform() - 0.5) * (i % 2 == 0 ? 1400.0 : 4.0);
    worst = std::max(worst, ulps(fmath::exp(x), std::exp(x)));
  }
  EXPECT_LE(worst, 2);
}

TEST(Fmath, LogFollowsTheCLibrary) {
  Rng rng(2);
  std::int64_t worst = 0;
  for (int i = 0; i < 200'000; ++i) {
    const double x =
        i % 2 == 0 ? std::bit_cast<double>(rng.next() >> 1 & 0x7fef'ffff'ffff'ffffull) : 0.4 + 2 * rng.uniform();
    worst = std::max(worst, ulps(fmath::log(x), std::log(x)));
  }
  EXPECT_LE(worst, 3);
}

TEST(Fmath, Log1pIsAccurateNearZero) {
  for (double x = 1e-18; x < 1; x *= 1.7) {
    EXPECT_LE(ulps(fmath::log1p(x), std::log1p(x)), 5) << x;
    EXPECT_LE(ulps(fmath::log1p(-x), std::log1p(-x)), 5) << -x;
  }
}

TEST(Fmath, LogGammaFollowsTheCLibrary) {
  for (double x = 1e-3; x < 1e7; x *= 1.013) {
    EXPECT_NEAR(fmath::log_gamma(x), std::lgamma(x), 4e-15 * (4 + std::fabs(std::lgamma(x)))) << x;
  }
  EXPECT_EQ(fmath::log_factorial(0), 0);
  EXPECT_EQ(fmath::log_factorial(1), 0);
  EXPECT_NEAR(fmath::exp(fmath::log_factorial(12)), 479001600.0, 1e-5);
}

TEST(Fmath, EdgesOfTheRange) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(fmath::exp(0), 1);
  EXPECT_EQ(fmath::exp(-infinity), 0);
  EXPECT_EQ(fmath::exp(800), infinity);
  EXPECT_GT(fmath::exp(-744), 0);
  EXPECT_TRUE(std::isnan(fmath::exp(std::nan(""))));
  EXPECT_EQ(fmath::log(1), 0);
  EXPECT_EQ(fmath::log(0), -infinity);
  EXPECT_TRUE(std::isnan(fmath::log(-1)));
  EXPECT_EQ(fmath::log(infinity), infinity);
  EXPECT_LE(ulps(fmath::log(5e-324), std::log(5e-324)), 2);
  EXPECT_DOUBLE_EQ(fmath::pow(2, 10), 1024);
}

}  // namespace
}  // namespace afore
