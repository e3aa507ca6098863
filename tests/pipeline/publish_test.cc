// What workers get from a plan: their shares, tiles and tokens.
#include "fixtures.h"
#include "pipeline/messages.h"

namespace afore::pipeline {
namespace {

std::string shares(const PublishedPlan& plan, int worker) {
  std::string text;
  for (const PublishedPlan::Share& share : plan.of(worker))
    text += std::to_string(share.expert) + "x" + std::to_string(share.tiles) + "=" + std::to_string(share.tokens) + " ";
  return text;
}

// Experts 0 and 1 on workers 0 and 1, a replica of 0 on workers 1 and 2.
LayerPlacement replicated() { return LayerPlacement::from_physical(2, 3, 2, std::vector<int>{0, -1, 1, 0, 0, -1}); }

TEST(Publish, RedundantWorkersTakeWholeTilesThePrimaryTheRest) {
  Plan plan;
  plan.assignment = {{0, 0, 2}, {0, 1, 1}, {0, 2, 2}, {1, 1, 1}};
  const PlanPtr result = publish(plan, demand({0, 1, 0}, {130 + 128, 5}), 7, 64, 3, replicated());
  EXPECT_EQ(result->serial, 7);
  EXPECT_EQ(result->tokens, 263);
  EXPECT_EQ(shares(*result, 0), "0x2=66 ");  // 258 - 64 - 128
  EXPECT_EQ(shares(*result, 1), "0x1=64 1x1=5 ");
  EXPECT_EQ(shares(*result, 2), "0x2=128 ");
  EXPECT_EQ(result->tiles, (std::vector<std::int64_t>{2, 2, 2}));
  EXPECT_EQ(result->worker_tokens, (std::vector<std::int64_t>{66, 69, 128}));
}

TEST(Publish, TokensOfThePlanReplaceTheRule) {
  Plan plan;
  plan.assignment = {{0, 0, 1}, {0, 2, 1}, {1, 1, 1}};
  plan.assignment_tokens = {{0, 0, 51}, {0, 2, 50}, {1, 1, 5}};
  const PlanPtr result = publish(plan, demand({0, 1, 0}, {101, 5}), 0, 64, 3, replicated());
  EXPECT_EQ(shares(*result, 0), "0x1=51 ");
  EXPECT_EQ(shares(*result, 1), "1x1=5 ");
  EXPECT_EQ(shares(*result, 2), "0x1=50 ");
}

TEST(Publish, VirtualPlansGiveTheShortTileToTheLastWorker) {
  Plan plan;
  plan.is_virtual = true;
  plan.assignment = {{0, 1, 2}, {0, 2, 1}, {1, 0, 1}};
  const PlanPtr result = publish(plan, demand({0, 1, 0}, {130, 5}), 0, 64, 3, LayerPlacement::initial(2, 3, 0));
  EXPECT_EQ(shares(*result, 0), "1x1=5 ");
  EXPECT_EQ(shares(*result, 1), "0x2=128 ");
  EXPECT_EQ(shares(*result, 2), "0x1=2 ");
}

TEST(Publish, AWorkerWithoutWorkHasNoShares) {
  Plan plan;
  plan.assignment = {{0, 0, 1}};
  const PlanPtr result = publish(plan, demand({0, 1, 0}, {1, 0}), 0, 64, 3, replicated());
  EXPECT_TRUE(result->of(1).empty());
  EXPECT_TRUE(result->of(2).empty());
  EXPECT_EQ(result->tiles, (std::vector<std::int64_t>{1, 0, 0}));
}

}  // namespace
}  // namespace afore::pipeline
