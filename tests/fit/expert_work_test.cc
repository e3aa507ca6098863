#include "fit/expert_work.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "fit/power_law.h"

namespace afore::fit {
namespace {

MeasuredRow row_of(std::int64_t tokens, std::int64_t workers, double alpha = 0) {
  MeasuredRow row;
  row.key = std::to_string(tokens) + "|" + std::to_string(workers) + "|" + std::to_string(alpha);
  row.load.tokens = tokens;
  row.load.top_k = 8;
  row.load.experts = 256;
  row.load.local_experts = 256 / workers;
  row.load.kind = alpha > 0 ? ExpertLoad::Kind::power_law : ExpertLoad::Kind::uniform;
  row.load.alpha = alpha;
  return row;
}

ExpertWork uniform(TableForm form, std::int64_t tokens, std::int64_t workers) {
  return expert_work(form, row_of(tokens, workers), 128, 0);
}

// 4,096 tokens x 8 / 256 experts = 128 each: one tile on each of the 8 experts of a worker of 32.
TEST(UniformWork, GenerationByHand) {
  EXPECT_EQ(uniform(TableForm::generation, 4096, 32).tiles, 8);
  EXPECT_EQ(uniform(TableForm::generation, 4096, 32).activated, 8);
  EXPECT_EQ(uniform(TableForm::generation, 4128, 32).tiles, 16);  // 129 each
}

// Fewer assignments than experts: a worker of 4 gets 4 x 8 / 4 = 8 of them, one an expert.
TEST(UniformWork, GenerationWithIdleExperts) {
  EXPECT_EQ(uniform(TableForm::generation, 4, 4).tiles, 8);
  EXPECT_EQ(uniform(TableForm::generation, 4, 4).activated, 8);
}

// 1,024 tokens on 2 workers: 32 rows for each of 128 experts, not padded, so 4,096 rows in 32 tiles.
TEST(UniformWork, ContextIsNotPadded) {
  EXPECT_EQ(uniform(TableForm::context, 1024, 2).tiles, 32);
  EXPECT_EQ(uniform(TableForm::context, 1024, 2).activated, 32);
  EXPECT_EQ(uniform(TableForm::context, 65536, 4).tiles, 1024);
  EXPECT_EQ(uniform(TableForm::context, 65536, 4).activated, 64);
}

TEST(PowerLaw, OneWorkerGetsEverything) {
  for (const double alpha : {0.6, 1.01, 1.2})
    for (const std::int64_t tokens : {8, 32, 33, 4096}) {
      Rng rng(7);
      const std::vector<std::int64_t> loads = draw_power_law(row_of(tokens, 1, alpha).load, rng);
      ASSERT_EQ(loads.size(), 256u);
      EXPECT_EQ(std::accumulate(loads.begin(), loads.end(), std::int64_t{0}), tokens * 8);
      EXPECT_GE(*std::min_element(loads.begin(), loads.end()), 0);
    }
}

// The worker measured is the one with the most, so never below the mean.
TEST(PowerLaw, TheMostLoadedWorkerIsMeasured) {
  Rng rng(7);
  for (int draw = 0; draw < 50; ++draw) {
    const std::vector<std::int64_t> loads = draw_power_law(row_of(512, 32, 1.2).load, rng);
    ASSERT_EQ(loads.size(), 8u);
    EXPECT_GE(std::accumulate(loads.begin(), loads.end(), std::int64_t{0}), 512 * 8 / 32);
  }
}

// A steeper law loads the worst worker more and leaves more of the experts without work.
TEST(PowerLaw, SteeperIsMoreSkewed) {
  const ExpertWork flat = expert_work(TableForm::generation, row_of(4096, 32, 0.6), 128, 0);
  const ExpertWork steep = expert_work(TableForm::generation, row_of(4096, 32, 1.2), 128, 0);
  EXPECT_GT(steep.tiles, 1.3 * flat.tiles);
  const ExpertWork even = expert_work(TableForm::generation, row_of(512, 4, 0), 128, 0);
  const ExpertWork few = expert_work(TableForm::generation, row_of(64, 4, 1.2), 128, 0);
  EXPECT_EQ(even.activated, 64);
  EXPECT_LT(few.activated, 0.8 * 64);
  EXPECT_GT(few.tiles_variance, 0);
}

TEST(PowerLaw, TheSeedDecides) {
  const MeasuredRow row = row_of(1024, 16, 1.01);
  EXPECT_EQ(expert_work(TableForm::generation, row, 64, 3).tiles, expert_work(TableForm::generation, row, 64, 3).tiles);
  EXPECT_NE(expert_work(TableForm::generation, row, 64, 3).tiles, expert_work(TableForm::generation, row, 64, 4).tiles);
  // The same draws under another tile: as many experts with work.
  EXPECT_EQ(expert_work(TableForm::generation, row, 64, 3).activated,
            expert_work(TableForm::generation, row, 128, 3).activated);
}

// 1,280 assignments on 10 of 16 experts: 128 each without deviation among the ten.
TEST(StatedWork, FromStatistics) {
  MeasuredRow row;
  row.key = "stated";
  row.load.kind = ExpertLoad::Kind::stated;
  row.load.local_experts = 16;
  row.load.routed = 1280;
  row.load.activated = 10;
  row.load.deviation = std::sqrt(0.6);  // of 80 on average: sqrt(10/16 * 128^2 - 80^2) / 80
  row.load.least = 0;
  row.load.most = 1.6;
  const ExpertWork work = expert_work(TableForm::fused, row, 16, 0);
  EXPECT_EQ(work.activated, 10);
  EXPECT_NEAR(work.tiles, 80, 0.5);
  // A deviation among them costs about half a tile for each expert.
  row.load.activated = 16, row.load.deviation = 0.3, row.load.least = 0.2, row.load.most = 2;
  const double tiles = expert_work(TableForm::fused, row, 16, 0).tiles;
  EXPECT_GT(tiles, 80 + 4);
  EXPECT_LT(tiles, 80 + 12);
}

}  // namespace
}  // namespace afore::fit
