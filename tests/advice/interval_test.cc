#include "advice/interval.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace afore::advice {
namespace {

// Two-sided quantiles of Student's t as tables have them.
TEST(Interval, StudentsTIsThatOfTables) {
  EXPECT_NEAR(student_t(2, 0.95), 4.302653, 1e-5);
  EXPECT_NEAR(student_t(4, 0.95), 2.776445, 1e-5);
  EXPECT_NEAR(student_t(9, 0.95), 2.262157, 1e-5);
  EXPECT_NEAR(student_t(9, 0.99), 3.249836, 1e-5);
  EXPECT_NEAR(student_t(30, 0.90), 1.697261, 1e-5);
  EXPECT_NEAR(student_t(1000, 0.95), 1.962339, 1e-5);
}

// By hand: base 11 12 13, other 10 10 10. R = 36 / 30 = 1.2, residuals -1 0 1, sum of squares 2, error
// sqrt(2 / 6) / 10 = 0.057735; lag-1 correlation 0, so r = 1 / 3 and the error is sqrt(2) times that; t(2) = 4.302653:
// reach 0.351310.
TEST(Interval, RatioOfThreeBlocksByHand) {
  const std::vector<double> base = {11, 12, 13}, other = {10, 10, 10};
  const Interval i = gain_interval(base, other, 0.95);
  EXPECT_NEAR(i.gain, 0.2, 1e-12);
  EXPECT_NEAR(i.low, 0.2 - 0.351310, 1e-5);
  EXPECT_NEAR(i.high, 0.2 + 0.351310, 1e-5);
  EXPECT_EQ(i.blocks, 3);
  EXPECT_EQ(i.better, 3);
  EXPECT_EQ(i.correlation, 0);
}

TEST(Interval, BlocksThatAgreeLeaveNoDoubt) {
  const std::vector<double> base = {2, 4, 6}, other = {1, 2, 3};
  const Interval i = gain_interval(base, other, 0.95);
  EXPECT_EQ(i.low, 1);
  EXPECT_EQ(i.high, 1);
}

// The same blocks in an order that drifts are less evidence than in one that does not. Residuals -3 -1 1 3 have the
// lag-1 correlation (3 - 1 + 3) / 20 = 0.25, so r = 0.25 + 1.75 / 4 = 0.6875 and two degrees are left; -3 3 -1 1 have
// -0.65, r = 0 and three degrees.
TEST(Interval, DriftWidensIt) {
  const std::vector<double> other = {10, 10, 10, 10}, drifting = {9, 11, 13, 15}, mixed = {9, 15, 11, 13};
  const Interval a = gain_interval(drifting, other, 0.95), b = gain_interval(mixed, other, 0.95);
  EXPECT_NEAR(a.correlation, 0.25, 1e-12);
  EXPECT_LT(b.correlation, 0);
  EXPECT_NEAR((a.high - a.low) / (b.high - b.low), std::sqrt(1.6875 / 0.3125) * 4.302653 / 3.182446, 1e-5);
}

}  // namespace
}  // namespace afore::advice
