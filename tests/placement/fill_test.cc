// Policy split: what it fills, and that it then only splits.
#include <gtest/gtest.h>

#include "instances.h"
#include "placement/policy.h"

namespace afore::placement {
namespace {

struct Layer {
  explicit Layer(Objective objective, std::int64_t budget)
      : policy(make_split({objective, budget})), placement(LayerPlacement::initial(8, 4, 2)) {}

  Decision plan(const std::vector<std::int64_t>& counts) {
    const Decision decision = policy->decide({{step++, 0, 0}, counts, placement, {}, {}, cost, 0});
    for (const Copy& copy : decision.copies) {
      EXPECT_EQ(placement.expert_at(copy.to, copy.slot), kNoExpert) << "only empty slots are filled";
      EXPECT_FALSE(placement.holds(copy.expert, copy.to));
      placement.set(copy.to, copy.slot, copy.expert);
    }
    return decision;
  }

  LayerCost cost{.c0_ns = 0, .c1_ns = 10, .c2_ns = 3, .tile_tokens = 4, .expert_bytes = 1, .copy_ns = 100};
  std::unique_ptr<Policy> policy;
  LayerPlacement placement;
  std::int64_t step = 0;
};

TEST(SplitPolicy, FillsEverySlotOnceAndCopiesNothingAfter) {
  Layer run(Objective::tiles, 3);
  testing::Random random(3);
  std::int64_t copies = 0;
  for (int target = 0; target < 40; ++target) {
    std::vector<std::int64_t> counts(8);
    for (auto& count : counts) count = random.below(200);
    const Decision decision = run.plan(counts);
    EXPECT_LE(std::ssize(decision.copies), 3);
    EXPECT_TRUE(target >= 8 || decision.copies.empty());
    EXPECT_TRUE(copies < 8 || decision.copies.empty());
    copies += std::ssize(decision.copies);
  }
  EXPECT_EQ(copies, 8);  // two slots on each of four workers
}

TEST(SplitPolicy, TheHottestExpertGetsTheReplicas) {
  Layer run(Objective::tiles, 8);
  for (int target = 0; target < 9; ++target) run.plan({900, 10, 10, 10, 10, 10, 10, 10});
  EXPECT_EQ(run.placement.holders(0).size(), 4u);
}

TEST(SplitPolicy, TilesAreSplitAsWellAsTheReplicasAllow) {
  testing::Random random(5);
  Layer run(Objective::tiles, 8);
  for (int target = 0; target < 60; ++target) {
    std::vector<std::int64_t> counts(8), tiles;
    for (auto& count : counts) count = random.below(random.below(4) == 0 ? 900 : 90);
    const Decision decision = run.plan(counts);
    count_tiles(counts, run.cost.tile_tokens, tiles);
    std::vector<std::vector<int>> holders;
    for (int e = 0; e < 8; ++e) {
      const auto of = run.placement.holders(e);
      holders.emplace_back(of.begin(), of.end());
    }
    EXPECT_EQ(worker_loads(decision.assignment, 4, run.cost).max_tiles, testing::hall(tiles, 4, holders));
  }
}

}  // namespace
}  // namespace afore::placement
