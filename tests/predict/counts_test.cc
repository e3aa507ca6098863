#include "predict/counts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "util/rng.h"

namespace afore::predict {
namespace {

std::int64_t sum(const std::vector<std::int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

TEST(Counts, ChanceIsTheLogisticFunction) {
  for (float score = -30; score <= 30; score += 0.01F)
    ASSERT_NEAR(chance(score), 1 / (1 + std::exp(-static_cast<double>(score))), 1e-6) << score;
  EXPECT_LT(chance(-1e30F), 1e-30F);
  EXPECT_EQ(chance(1e30F), 1);
  EXPECT_EQ(chance(std::numeric_limits<float>::quiet_NaN()), 1);
}

TEST(Counts, ScaledToTopKAndRounded) {
  ExpectedCounts expected(4, 2);
  std::vector<std::int64_t> counts;
  // Chances 1/2 each: two of four are expected to be taken, half of each.
  const std::vector<float> even(4, 0);
  expected.add(even);
  for (const double of : expected.sums()) EXPECT_NEAR(of, 0.5, 1e-9);
  expected.round(counts);
  EXPECT_EQ(counts, (std::vector<std::int64_t>{1, 1, 0, 0}));  // equal remainders: the lower index
  expected.add(even);
  expected.round(counts);
  EXPECT_EQ(counts, (std::vector<std::int64_t>{1, 1, 1, 1}));
  expected.clear();
  expected.round(counts);
  EXPECT_EQ(sum(counts), 0);
}

TEST(Counts, NoneAboveOne) {
  ExpectedCounts expected(4, 2);
  // Chances near 1, 1/4, 1/4, 1/4: one is certain, the others share the second place.
  const std::vector<float> scores = {20, -1.0986123F, -1.0986123F, -1.0986123F};
  expected.add(scores);
  EXPECT_DOUBLE_EQ(expected.sums()[0], 1);
  for (int e = 1; e < 4; ++e) EXPECT_NEAR(expected.sums()[e], 1.0 / 3, 1e-6);
}

TEST(Counts, SumOfManyIsWhole) {
  Rng rng(5);
  for (int top_k = 1; top_k <= 6; ++top_k) {
    ExpectedCounts expected(6, top_k);
    std::vector<std::int64_t> counts;
    for (int tokens = 1; tokens <= 100; ++tokens) {
      std::vector<float> scores(6);
      for (float& score : scores) score = static_cast<float>(20 * rng.normal());
      expected.add(scores);
      expected.round(counts);
      ASSERT_EQ(sum(counts), tokens * top_k);
      for (const std::int64_t count : counts) ASSERT_TRUE(count >= 0 && count <= tokens);
    }
  }
}

TEST(Counts, BestFirstAndLowerIndexOfEqualOnes) {
  std::vector<std::uint16_t> best(3);
  const std::vector<float> scores = {1, 5, 5, -2, 7};
  best_experts(scores, best);
  EXPECT_EQ(best, (std::vector<std::uint16_t>{4, 1, 2}));
}

}  // namespace
}  // namespace afore::predict
