#include "kernels/exact_exp.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace afore::kernels {
namespace {

TEST(ExactExp, IsWithinOneUnitInTheLastPlace) {
  for (float x = kExpLowest; x < kExpHighest; x += 0.00037f) {
    const double exact = std::exp(static_cast<double>(x));
    const double unit = std::ldexp(1.0, std::ilogb(exact) - 23);
    ASSERT_LE(std::abs(exact_exp(x) - exact), unit) << x;
  }
}

TEST(ExactExp, OfZeroIsOneAndNearbyIsNot) {
  EXPECT_EQ(exact_exp(0.0f), 1.0f);
  EXPECT_EQ(exact_exp(-0.0f), 1.0f);
  EXPECT_EQ(exact_exp(0x1p-24f), 1.0f);
  EXPECT_LT(exact_exp(-0x1p-23f), 1.0f);
  EXPECT_GT(exact_exp(0x1p-22f), 1.0f);
}

TEST(ExactExp, EndsAtItsBounds) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(exact_exp(std::nextafter(kExpLowest, -kInfinity)), 0.0f);
  EXPECT_GE(exact_exp(kExpLowest), std::numeric_limits<float>::min());
  EXPECT_EQ(exact_exp(-kInfinity), 0.0f);
  EXPECT_TRUE(std::isfinite(exact_exp(kExpHighest)));
  EXPECT_EQ(exact_exp(100.0f), exact_exp(kExpHighest));
  EXPECT_EQ(exact_exp(kInfinity), exact_exp(kExpHighest));
  EXPECT_TRUE(std::isnan(exact_exp(std::numeric_limits<float>::quiet_NaN())));
}

// The bits that every device gives too.
TEST(ExactExp, IsTheSameEverywhere) {
  EXPECT_EQ(exact_exp(1.0f), 0x1.5bf0a8p+1f);
  EXPECT_EQ(exact_exp(-1.0f), 0x1.78b564p-2f);
  EXPECT_EQ(exact_exp(10.5f), 0x1.1bb702p+15f);
  EXPECT_EQ(exact_exp(-20.25f), 0x1.b93de2p-30f);
}

}  // namespace
}  // namespace afore::kernels
