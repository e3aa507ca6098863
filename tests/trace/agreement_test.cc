#include "trace/agreement.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace afore::trace {
namespace {

using Values = std::vector<double>;

TEST(Agreement, PercentDifferenceIsOfTheFirst) {
  EXPECT_DOUBLE_EQ(percent_difference(200, 150).value(), -25);
  EXPECT_DOUBLE_EQ(percent_difference(-4, -3).value(), 25);  // larger is positive, whatever the sign
  EXPECT_DOUBLE_EQ(percent_difference(0, 0).value(), 0);
  EXPECT_FALSE(percent_difference(0, 1));
}

TEST(Agreement, MapeByHand) {
  // 10 % + 50 % + 0 % of three; the fourth has no percentage.
  const Mape result = mape(Values{10, -20, 5, 0}, Values{11, -10, 5, 7});
  EXPECT_DOUBLE_EQ(result.percent.value(), 20);
  EXPECT_EQ(result.zeros, 1);
}

TEST(Agreement, MapeOfNothingIsUndefined) {
  EXPECT_FALSE(mape(Values{}, Values{}).percent);
  const Mape zeros = mape(Values{0, 0}, Values{0, 3});
  EXPECT_FALSE(zeros.percent);
  EXPECT_EQ(zeros.zeros, 2);
}

TEST(Agreement, BiasIsOfTheSumsAndCountsZeros) {
  EXPECT_DOUBLE_EQ(bias(Values{10, 30, 0}, Values{20, 10, 20}).value(), 25);  // 50 against 40
  EXPECT_DOUBLE_EQ(bias(Values{-10, -10}, Values{-5, -5}).value(), 50);
  EXPECT_FALSE(bias(Values{1, -1}, Values{2, 2}));
  EXPECT_FALSE(bias(Values{}, Values{}));
}

TEST(Agreement, PearsonByHand) {
  // Deviations -1.5 -0.5 0.5 1.5 and -1 -2 2 1: 5 / sqrt(5 * 10)
  EXPECT_DOUBLE_EQ(pearson(Values{1, 2, 3, 4}, Values{3, 2, 6, 5}).value(), 5 / std::sqrt(50.0));
  EXPECT_DOUBLE_EQ(pearson(Values{1, 2, 4}, Values{-10, -20, -40}).value(), -1);
  EXPECT_LE(pearson(Values{0.1, 0.2, 0.4}, Values{0.3, 0.6, 1.2}).value(), 1);
}

TEST(Agreement, PearsonOfLargeTimesLosesNothing) {
  const double base = 9e15;  // sums of squares would be 1e32, and their difference 2
  EXPECT_DOUBLE_EQ(pearson(Values{base, base + 1, base + 2}, Values{5, 6, 7}).value(), 1);
}

TEST(Agreement, PearsonNeedsTwoDifferentValuesOfEach) {
  EXPECT_FALSE(pearson(Values{}, Values{}));
  EXPECT_FALSE(pearson(Values{1}, Values{2}));
  EXPECT_FALSE(pearson(Values{1, 2, 3}, Values{0.1, 0.1, 0.1}));  // whose mean is not 0.1
  EXPECT_FALSE(pearson(Values{4, 4}, Values{1, 2}));
}

}  // namespace
}  // namespace afore::trace
