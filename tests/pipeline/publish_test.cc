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

std::string ranges(const PublishedPlan& plan, int worker) {
  std::string text;
  for (const PublishedPlan::Share& share : plan.of(worker))
    text += std::to_string(share.expert) + ":" + std::to_string(share.first) + "+" + std::to_string(share.tokens) + " ";
  return text;
}

// Experts 0 and 1 on workers 0 and 1, a replica of 0 on workers 1 and 2.
LayerPlacement replicated() { return LayerPlacement::from_physical(2, 3, 2, std::vector<int>{0, -1, 1, 0, 0, -1}); }

TEST(Publish, RedundantWorkersTakeWholeTilesThePrimaryTheRest) {
  Plan plan;
  plan.assignment = {{0, 0, 2}, {0, 1, 1}, {0, 2, 2}, {1, 1, 1}};
  const PlanPtr result = make_published(plan, demand({0, 1, 0}, {130 + 128, 5}), 7, 64, 3, replicated());
  EXPECT_EQ(result->serial, 7);
  EXPECT_EQ(result->tokens, 263);
  EXPECT_EQ(shares(*result, 0), "0x2=66 ");  // 258 - 64 - 128
  EXPECT_EQ(shares(*result, 1), "0x1=64 1x1=5 ");
  EXPECT_EQ(shares(*result, 2), "0x2=128 ");
  EXPECT_EQ(result->tiles, (std::vector<std::int64_t>{2, 2, 2}));
  EXPECT_EQ(result->worker_tokens, (std::vector<std::int64_t>{66, 69, 128}));
}

TEST(Publish, SharesAreNumberedRedundantWorkersFirst) {
  Plan plan;
  plan.assignment = {{0, 0, 2}, {0, 1, 1}, {0, 2, 2}, {1, 1, 1}};
  const PlanPtr result = make_published(plan, demand({0, 1, 0}, {130 + 128, 5}), 7, 64, 3, replicated());
  EXPECT_EQ(ranges(*result, 0), "0:192+66 ");
  EXPECT_EQ(ranges(*result, 1), "0:0+64 1:0+5 ");
  EXPECT_EQ(ranges(*result, 2), "0:64+128 ");
}

TEST(Publish, SharesOfNoTokensAreKept) {
  Plan plan;
  plan.assignment = {{0, 0, 1}, {0, 1, 2}, {0, 2, 1}};  // the first redundant worker takes all
  const PlanPtr result = make_published(plan, demand({0, 1, 0}, {100, 0}), 0, 64, 3, replicated());
  EXPECT_EQ(ranges(*result, 0), "0:100+0 ");
  EXPECT_EQ(ranges(*result, 1), "0:0+100 ");
  EXPECT_EQ(ranges(*result, 2), "0:100+0 ");
}

// Random plans of all three kinds: the shares of an expert cut its tokens without gap or overlap.
TEST(Publish, SharesPartitionTheTokensOfAnExpert) {
  Draw draw{1};
  for (int round = 0; round < 2'000; ++round) {
    const int experts = static_cast<int>(1 + draw(6)), workers = static_cast<int>(1 + draw(5));
    const std::int64_t tile = 1 + draw(9);
    LayerPlacement placement = LayerPlacement::initial(experts, workers, static_cast<int>(1 + draw(3)));
    for (int w = 0; w < workers; ++w)
      if (const int expert = static_cast<int>(draw(experts)); !placement.holds(expert, w))
        placement.set(w, placement.slots_per_worker() - 1, expert);
    Plan plan;
    plan.is_virtual = draw(3) == 0;
    const bool own_tokens = !plan.is_virtual && draw(2) == 0;
    std::vector<std::int64_t> counts(experts, 0);
    for (int e = 0; e < experts; ++e) {
      for (int w = 0; w < workers; ++w) {
        if (!plan.is_virtual && !placement.holds(e, w)) continue;
        const std::int64_t tiles = 1 + draw(4);
        plan.assignment.push_back({e, w, tiles});
        const std::int64_t tokens = draw(tiles * tile + 1);
        if (own_tokens) plan.assignment_tokens.push_back({e, w, tokens});
        counts[e] += plan.is_virtual ? tiles * tile : tokens;
      }
    }
    const PlanPtr result = make_published(plan, demand({0, 1, 0}, counts), 0, tile, workers, placement);
    std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> cut(experts);
    for (const PublishedPlan::Share& share : result->shares) cut[share.expert].emplace_back(share.first, share.tokens);
    for (int e = 0; e < experts; ++e) {
      std::sort(cut[e].begin(), cut[e].end());
      std::int64_t next = 0;
      for (const auto& [first, tokens] : cut[e]) {
        EXPECT_EQ(first, next);
        next += tokens;
      }
      EXPECT_EQ(next, counts[e]) << "round " << round << " expert " << e;
    }
  }
}

TEST(Publish, TokensOfThePlanReplaceTheRule) {
  Plan plan;
  plan.assignment = {{0, 0, 1}, {0, 2, 1}, {1, 1, 1}};
  plan.assignment_tokens = {{0, 0, 51}, {0, 2, 50}, {1, 1, 5}};
  const PlanPtr result = make_published(plan, demand({0, 1, 0}, {101, 5}), 0, 64, 3, replicated());
  EXPECT_EQ(shares(*result, 0), "0x1=51 ");
  EXPECT_EQ(shares(*result, 1), "1x1=5 ");
  EXPECT_EQ(shares(*result, 2), "0x1=50 ");
  EXPECT_EQ(ranges(*result, 0), "0:50+51 ");
  EXPECT_EQ(ranges(*result, 1), "1:0+5 ");
  EXPECT_EQ(ranges(*result, 2), "0:0+50 ");
}

TEST(Publish, VirtualPlansGiveTheShortTileToTheLastWorker) {
  Plan plan;
  plan.is_virtual = true;
  plan.assignment = {{0, 1, 2}, {0, 2, 1}, {1, 0, 1}};
  const PlanPtr result = make_published(plan, demand({0, 1, 0}, {130, 5}), 0, 64, 3, LayerPlacement::initial(2, 3, 0));
  EXPECT_EQ(shares(*result, 0), "1x1=5 ");
  EXPECT_EQ(shares(*result, 1), "0x2=128 ");
  EXPECT_EQ(shares(*result, 2), "0x1=2 ");
  EXPECT_EQ(ranges(*result, 1), "0:0+128 ");
  EXPECT_EQ(ranges(*result, 2), "0:128+2 ");
}

TEST(Publish, AWorkerWithoutWorkHasNoShares) {
  Plan plan;
  plan.assignment = {{0, 0, 1}};
  const PlanPtr result = make_published(plan, demand({0, 1, 0}, {1, 0}), 0, 64, 3, replicated());
  EXPECT_TRUE(result->of(1).empty());
  EXPECT_TRUE(result->of(2).empty());
  EXPECT_EQ(result->tiles, (std::vector<std::int64_t>{1, 0, 0}));
}

}  // namespace
}  // namespace afore::pipeline
