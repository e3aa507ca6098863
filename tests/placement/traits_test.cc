// Bounds and times where workers differ or the roofline rule holds, against brute force; and what draining workers and
// pinned experts forbid, under every policy there is.
#include "placement/traits.h"

#include <gtest/gtest.h>

#include "exact_cases.h"
#include "placement/bounds.h"
#include "placement/registry.h"

namespace afore::placement {
namespace {

using testing::BruteSplit;
using testing::Random;
using testing::SplitCase;

LayerCost cost_of(const SplitCase& made) {
  LayerCost cost;
  cost.c0_ns = 11;
  cost.c1_ns = made.per_tile;
  cost.c2_ns = made.per_expert;
  cost.rule = made.rule;
  return cost;
}

TEST(Traits, TimeBoundsHoldUnderEitherRuleAndAnySlowdowns) {
  Random random(5);
  int met = 0;
  for (int i = 0; i < 3000; ++i) {
    const LoadRule rule = random.below(2) == 0 ? LoadRule::additive : LoadRule::roofline;
    SplitCase made = testing::small_case(random, rule, random.below(3) > 0);
    const LayerCost cost = cost_of(made);
    const Board board = testing::make_board(made.tiles, made.workers, made.holders, {cost.c1_ns, cost.c2_ns});
    Bounds bounds;
    const std::int64_t optimum = BruteSplit(made).best();
    const std::int64_t standing =
        bounds.time_bound(board, cost, made.traits, {0, std::vector<int>(made.workers, 0), 0});
    EXPECT_LE(standing, optimum) << i;
    met += standing == optimum;
    // With a copy of any expert to a worker with a slot for it, no bound that counts on one copy is passed.
    const CopyRoom room{1, std::vector<int>(made.workers, 1), made.workers};
    const std::int64_t with_copy = bounds.time_bound(board, cost, made.traits, room);
    EXPECT_LE(with_copy, optimum) << i;
    EXPECT_LE(Bounds::time_everywhere(made.tiles, made.workers, cost, made.traits), optimum) << i;
    for (std::size_t e = 0; e < made.tiles.size() && i % 20 == 0; ++e)
      for (int w = 0; w < made.workers; ++w) {
        SplitCase grown = made;
        std::vector<int>& holders = grown.holders[e];
        if (made.tiles[e] == 0 || std::find(holders.begin(), holders.end(), w) != holders.end()) continue;
        holders.push_back(w);
        EXPECT_LE(with_copy, BruteSplit(grown).best()) << i;
      }
  }
  EXPECT_GT(met, 300);
}

TEST(Traits, TrueLoadsByHand) {
  const Board board = [] {
    Board made = testing::make_board({4, 2}, 2, {{0, 1}, {1}}, {1, 0});
    made.put(made.of_expert(0)[0], 3);
    made.put(made.of_expert(0)[1], 1);
    made.put(made.of_expert(1)[0], 2);
    made.settle();
    return made;
  }();
  const LayerPlacement placement = LayerPlacement::initial(2, 2, 1);
  LayerCost cost{.c0_ns = 7, .c1_ns = 10, .c2_ns = 12};
  const std::vector<std::int64_t> counts = {4, 2};
  const std::vector<WorkerTraits> traits = {{}, {1500, 1000, false}};
  Request request{{}, counts, placement, {}, {}, cost, 0};
  TrueLoads loads;
  EXPECT_TRUE(is_plain(request));
  EXPECT_EQ(loads.of(board, request), 54);  // worker 1: 30 + 24
  request.workers = traits;
  EXPECT_FALSE(is_plain(request));
  EXPECT_EQ(loads.of(board, request), 81);
  EXPECT_EQ(loads.of_first_replicas(board, request), 52);  // 40 + 12, and 1.5 * (20 + 12)
  cost.rule = LoadRule::roofline;
  EXPECT_EQ(loads.of(board, request), 45);
}

// One layer planned step after step, its copies taken.
struct Layer {
  LayerPlacement placement = LayerPlacement::initial(12, 4, 3);
  std::vector<WorkerTraits> traits = std::vector<WorkerTraits>(4);
  std::vector<std::uint8_t> pinned = std::vector<std::uint8_t>(12, 0);
  LayerCost cost{.c0_ns = 10, .c1_ns = 100, .c2_ns = 20, .tile_tokens = 512, .copy_ns = 1};
  Random random{9};

  template <class Check>
  std::int64_t steps(const PolicyInfo& info, Split split, Check&& check) {
    Limits limits;
    limits.copy_budget = 8;
    limits.split = split;
    const auto policy = info.make(limits);
    std::int64_t copies = 0;
    for (int step = 0; step < 40; ++step) {
      std::vector<std::int64_t> counts(12);
      for (std::int64_t& count : counts) count = random.below(12);
      counts[0] += 40;
      counts[1] += 30;
      for (std::int64_t& count : counts) count *= 512;  // what rules take for worth a copy
      const LayerPlacement before = placement;
      Request request{{step, 0, 0}, counts, before, {}, {}, cost, 1'000'000, pinned, traits};
      const Decision decision = policy->decide(request);
      copies += std::ssize(decision.copies);
      for (const Copy& copy : decision.copies) placement.set(copy.to, copy.slot, copy.expert);
      check(before, decision);
    }
    return copies;
  }
};

class EveryPolicy : public ::testing::TestWithParam<std::tuple<const PolicyInfo*, Split>> {};

TEST_P(EveryPolicy, NeverCopiesToADrainingWorkerNorAPinnedExpert) {
  const auto [info, split] = GetParam();
  Layer run;
  run.traits[2].draining = true;
  run.pinned[1] = 1;
  const std::int64_t copies = run.steps(*info, split, [](const LayerPlacement&, const Decision& decision) {
    for (const Copy& copy : decision.copies) {
      EXPECT_NE(copy.to, 2);
      EXPECT_NE(copy.expert, 1);
    }
  });
  const std::string name = info->name;
  if (name != "static" && name != "balanced" && name != "ideal") {
    EXPECT_GT(copies, 0);
  }
}

TEST_P(EveryPolicy, ReplicasOutsideDrainingWorkersAreKept) {
  const auto [info, split] = GetParam();
  Layer run;
  run.traits[2].draining = true;
  for (int e = 6; e < 9; ++e) run.placement.set(3, e - 3, e);  // what stands on worker 2 also stands on worker 3
  const std::string name = info->name;
  const bool keeps_off = name == "afore" || name == "paper" || name == "split" || name == "director" ||
                         name == "annealing" ||
                         (split == Split::exact && name != "static" && name != "balanced" && name != "ideal");
  run.steps(*info, split, [&](const LayerPlacement& before, const Decision& decision) {
    for (int e = 6; e < 9; ++e) EXPECT_NE(stand_in(before, e, run.traits), 2);
    for (const TileShare& share : decision.assignment) EXPECT_TRUE(share.worker != 2 || !keeps_off) << share.expert;
  });
}

TEST_P(EveryPolicy, BoundsHoldAndTimesAreTrue) {
  const auto [info, split] = GetParam();
  for (const LoadRule rule : {LoadRule::additive, LoadRule::roofline}) {
    Layer run;
    run.cost.rule = rule;
    run.traits = {{}, {3000, 2000, false}, {700, 1000, false}, {1000, 1000, true}};
    run.steps(*info, split, [&](const LayerPlacement&, const Decision& decision) {
      const WorkerLoads loads = worker_loads(decision.assignment, 4, run.cost, run.traits);
      EXPECT_LE(decision.lower_bound_ns, loads.max_ns);
      EXPECT_LE(decision.lower_bound_ns, decision.ffn_ns_before);
      EXPECT_EQ(decision.certified, decision.lower_bound_ns == loads.max_ns);
    });
  }
}

std::vector<const PolicyInfo*> made_policies() {
  std::vector<const PolicyInfo*> made;
  for (const PolicyInfo& info : policies())
    if (info.make != nullptr) made.push_back(&info);
  return made;
}

INSTANTIATE_TEST_SUITE_P(Policies, EveryPolicy,
                         ::testing::Combine(::testing::ValuesIn(made_policies()),
                                            ::testing::Values(Split::own, Split::exact)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param)->name) +
                                  (std::get<1>(test.param) == Split::own ? "_own" : "_exact");
                         });

}  // namespace
}  // namespace afore::placement
