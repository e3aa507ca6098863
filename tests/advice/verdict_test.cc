#include "advice/verdict.h"

#include <gtest/gtest.h>

namespace afore::advice {
namespace {

Interval interval(double gain, double low, double high) {
  Interval i;
  i.gain = gain;
  i.low = low;
  i.high = high;
  i.blocks = i.better = 10;
  return i;
}

Evidence evidence(const Interval& history, const Interval& evaluation) {
  Evidence e;
  e.history_steps = e.evaluation_steps = 20;
  e.history = history;
  e.evaluation = evaluation;
  return e;
}

Verdict verdict_of(double gain, double low, double high) {
  const Interval i = interval(gain, low, high);
  return judge(evidence(i, i)).verdict;
}

TEST(Verdict, FollowsTheIntervalOfTheEvaluation) {
  EXPECT_EQ(verdict_of(0.05, 0.02, 0.08), Verdict::migrate);
  EXPECT_EQ(verdict_of(0.012, 0.005, 0.019), Verdict::migrate);  // below what is asked at its low end, but sure
  EXPECT_EQ(verdict_of(0.05, -0.01, 0.11), Verdict::not_enough_evidence);
  EXPECT_EQ(verdict_of(0.005, -0.01, 0.02), Verdict::not_enough_evidence);
  EXPECT_EQ(verdict_of(0.005, 0.001, 0.009), Verdict::do_nothing);   // sure, and too little
  EXPECT_EQ(verdict_of(0.008, 0.002, 0.014), Verdict::do_nothing);   // sure to be above 0; 1 % is not what was found
  EXPECT_EQ(verdict_of(0.002, -0.004, 0.008), Verdict::do_nothing);  // whatever it is, it is too little
  EXPECT_EQ(verdict_of(-0.2, -0.3, -0.1), Verdict::do_nothing);
  EXPECT_EQ(verdict_of(0, 0, 0), Verdict::do_nothing);
}

TEST(Verdict, NothingAskedStillNeedsAGain) {
  Evidence e = evidence(interval(0, 0, 0), interval(0, 0, 0));
  e.min_gain = 0;
  EXPECT_EQ(judge(e).verdict, Verdict::do_nothing);
  e.evaluation = interval(0.001, 0.0005, 0.0015);
  EXPECT_EQ(judge(e).verdict, Verdict::migrate);
}

TEST(Verdict, ShortWindowsAreNoEvidence) {
  Evidence e = evidence(interval(0.05, 0.04, 0.06), interval(0.05, 0.04, 0.06));
  e.history.reset();
  e.history_steps = 9;
  EXPECT_EQ(judge(e).verdict, Verdict::not_enough_evidence);
  EXPECT_EQ(judge(e).reason, "9 steps of history, where an interval needs 10");
  EXPECT_EQ(blocks_of(9), 0);
  EXPECT_EQ(blocks_of(10), 5);
  EXPECT_EQ(blocks_of(21), 10);
}

TEST(Verdict, WindowsOfDifferentWorkloadsThatContradictAreNoEvidence) {
  const Interval helps = interval(0.05, 0.04, 0.06), not_here = interval(0, -0.001, 0.001);
  Evidence e = evidence(helps, not_here);
  EXPECT_EQ(judge(e).verdict, Verdict::do_nothing);  // the same workload: the later window counts
  e.shift = {0.4, 0.02, true};
  EXPECT_EQ(judge(e).verdict, Verdict::not_enough_evidence);
  e = evidence(not_here, helps);
  e.shift = {0.4, 0.02, true};
  EXPECT_EQ(judge(e).verdict, Verdict::not_enough_evidence);
  e.history = helps;  // both say the same: the answer carries over the shift
  EXPECT_EQ(judge(e).verdict, Verdict::migrate);
  e.history = interval(0.01, -0.01, 0.03);  // undecided is no contradiction
  EXPECT_EQ(judge(e).verdict, Verdict::migrate);
}

TEST(Shift, IsMoreThanTheWindowsDifferInside) {
  const std::vector<std::int64_t> a = {60, 40}, b = {58, 42}, c = {20, 80}, d = {22, 78};
  ShiftMeter same;
  for (const int half : {0, 2}) same.add(half, 1, a);
  for (const int half : {1, 3}) same.add(half, 1, b);
  EXPECT_NEAR(same.measure().between, 0, 1e-12);
  EXPECT_NEAR(same.measure().within, 0.02, 1e-12);
  EXPECT_FALSE(same.measure().shifted);
  ShiftMeter moved;
  moved.add(0, 1, a);
  moved.add(1, 1, b);
  moved.add(2, 1, c);
  moved.add(3, 1, d);
  EXPECT_NEAR(moved.measure().between, 0.38, 1e-12);  // 118 of 200 and 42 of 200
  EXPECT_NEAR(moved.measure().within, 0.02, 1e-12);
  EXPECT_TRUE(moved.measure().shifted);
}

// A steady drift is as far between the windows as twice inside them, and no shift.
TEST(Shift, DriftIsNone) {
  ShiftMeter drift;
  for (int half = 0; half < 4; ++half) drift.add(half, 0, std::vector<std::int64_t>{60 - 10 * half, 40 + 10 * half});
  EXPECT_NEAR(drift.measure().between, 0.2, 1e-12);
  EXPECT_NEAR(drift.measure().within, 0.1, 1e-12);
  EXPECT_FALSE(drift.measure().shifted);
}

}  // namespace
}  // namespace afore::advice
