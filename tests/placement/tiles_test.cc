#include <gtest/gtest.h>

#include <numeric>

#include "instances.h"
#include "placement/tiles/planner.h"

namespace afore::placement {
namespace {

using testing::BruteForce;
using testing::Instance;
using testing::Random;
using testing::random_instance;

using Holders = std::vector<std::vector<int>>;
constexpr Nanos kHidden = Nanos{1} << 50;

Holders holders_of(const LayerPlacement& placement) {
  Holders holders(placement.experts());
  for (int e = 0; e < placement.experts(); ++e)
    holders[e].assign(placement.holders(e).begin(), placement.holders(e).end());
  return holders;
}

// Experts on the given workers, the first of each its primary; slots to spare.
LayerPlacement placed(int workers, const Holders& holders, int spare) {
  std::vector<int> used(workers, 0);
  for (const auto& list : holders)
    for (const int w : list) ++used[w];
  const int slots = *std::max_element(used.begin(), used.end()) + spare;
  std::vector<int> map(static_cast<std::size_t>(workers) * slots, kNoExpert);
  std::fill(used.begin(), used.end(), 0);
  for (std::size_t e = 0; e < holders.size(); ++e)
    for (const int w : holders[e]) map[w * slots + used[w]++] = static_cast<int>(e);
  LayerPlacement placement = LayerPlacement::from_physical(static_cast<int>(holders.size()), workers, slots, map);
  for (std::size_t e = 0; e < holders.size(); ++e) placement.fix_primary(static_cast<int>(e), holders[e].front());
  return placement;
}

Instance instance_of(LayerPlacement placement, std::vector<std::int64_t> counts, std::int64_t tile_tokens) {
  Instance instance{std::move(placement), std::move(counts), {}, {}, {}};
  instance.busy.assign(instance.placement.index_count(), 0);
  instance.last_used.assign(instance.placement.index_count(), -1);
  instance.cost.c1_ns = 1;
  instance.cost.tile_tokens = tile_tokens;
  instance.window_ns = kHidden;
  return instance;
}

struct Planned {
  Decision decision;
  WorkerLoads loads;
  std::int64_t proven = 0;
};

Planned plan(const Instance& instance, std::int64_t budget, std::int64_t nodes = TilePlanner::kNodes,
             bool gain_rule = true) {
  TilePlanner planner({Objective::tiles, budget, gain_rule, Split::exact}, nodes);
  Planned planned;
  planner.plan(instance.request(), planned.decision);
  planned.loads = worker_loads(planned.decision.assignment, instance.placement.workers(), instance.cost);
  planned.proven = planner.proven_tiles();
  return planned;
}

LayerPlacement after(const Instance& instance, std::span<const Copy> copies) {
  LayerPlacement placement = instance.placement;
  for (const Copy& copy : copies) {
    EXPECT_TRUE(placement.holds(copy.expert, copy.from));
    EXPECT_EQ(copy.from, placement.primary(copy.expert));
    EXPECT_FALSE(placement.holds(copy.expert, copy.to));
    EXPECT_FALSE(placement.is_primary_slot(copy.to, copy.slot));
    EXPECT_FALSE(instance.busy[placement.index(copy.to, copy.slot)]);
    placement.set(copy.to, copy.slot, copy.expert);
  }
  return placement;
}

// Sorted, whole, on holders after the copies.
void expect_sound(const Instance& instance, const Planned& planned) {
  const LayerPlacement placement = after(instance, planned.decision.copies);
  std::vector<std::int64_t> left, tiles;
  count_tiles(instance.counts, instance.cost.tile_tokens, tiles);
  left = tiles;
  const std::vector<TileShare>& shares = planned.decision.assignment;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    ASSERT_GT(shares[i].tiles, 0);
    ASSERT_TRUE(placement.holds(shares[i].expert, shares[i].worker));
    if (i > 0) {
      ASSERT_LT(std::tie(shares[i - 1].expert, shares[i - 1].worker), std::tie(shares[i].expert, shares[i].worker));
    }
    left[shares[i].expert] -= shares[i].tiles;
  }
  ASSERT_TRUE(std::all_of(left.begin(), left.end(), [](std::int64_t n) { return n == 0; }));
  ASSERT_LE(planned.decision.lower_bound_tiles, planned.proven);
  ASSERT_LE(planned.proven, planned.loads.max_tiles);
  ASSERT_EQ(planned.decision.certified, planned.decision.lower_bound_tiles == planned.loads.max_tiles);
  ASSERT_TRUE(std::is_sorted(planned.decision.cut.begin(), planned.decision.cut.end()));
  ASSERT_LE(planned.decision.lower_bound_ns, planned.loads.max_ns);
  ASSERT_LE(planned.loads.max_tiles, planned.decision.max_tiles_before);
}

TEST(TilePlanner, MakesTheCopyThatIsNeeded) {
  const Instance instance = instance_of(LayerPlacement::initial(2, 2, 1), {7, 1}, 1);
  const Planned planned = plan(instance, 2);
  EXPECT_EQ(planned.decision.max_tiles_before, 7);
  EXPECT_EQ(planned.loads.max_tiles, 4);
  EXPECT_EQ(planned.decision.copies, (std::vector<Copy>{{0, 0, 1, 1}}));
  EXPECT_EQ(planned.decision.assignment, (std::vector<TileShare>{{0, 0, 4}, {0, 1, 3}, {1, 1, 1}}));
  EXPECT_TRUE(planned.decision.certified);
}

TEST(TilePlanner, TakesAPathOfTwoHops) {
  const Instance instance = instance_of(placed(3, {{0, 1}, {1, 2}}, 0), {4, 2}, 1);
  const Planned planned = plan(instance, 0);
  EXPECT_EQ(planned.loads.max_tiles, 2);
  EXPECT_TRUE(planned.decision.certified);
}

TEST(TilePlanner, CutOfHallIsTheCertificate) {
  const Instance instance = instance_of(placed(3, {{0, 1}, {2}}, 0), {9, 1}, 1);
  const Planned planned = plan(instance, 0);
  EXPECT_EQ(planned.loads.max_tiles, 5);
  EXPECT_EQ(planned.decision.lower_bound_tiles, 5);
  EXPECT_EQ(planned.decision.cut, (std::vector<int>{0, 1}));
  EXPECT_TRUE(planned.decision.certified);
}

TEST(TilePlanner, SplitsInWholeTiles) {
  const Planned planned = plan(instance_of(placed(2, {{0, 1}}, 0), {130}, 64), 0);
  EXPECT_EQ(planned.decision.assignment, (std::vector<TileShare>{{0, 0, 2}, {0, 1, 1}}));
}

TEST(TilePlanner, CopiesOnlyForAGain) {
  Instance instance = instance_of(LayerPlacement::initial(2, 2, 1), {7, 1}, 1);
  instance.cost.copy_ns = 5;
  instance.window_ns = 1;  // 3 - 4
  EXPECT_TRUE(plan(instance, 2).decision.copies.empty());
  EXPECT_EQ(plan(instance, 2).decision.max_tiles_before, 7);
  EXPECT_EQ(plan(instance, 2, 0, false).decision.copies.size(), 1u);
  instance.window_ns = 3;  // 3 - 2
  EXPECT_EQ(plan(instance, 2).decision.copies.size(), 1u);
  instance.window_ns = 2;  // 3 - 3: nothing gained
  EXPECT_TRUE(plan(instance, 2).decision.copies.empty());
}

TEST(TilePlanner, SplitEqualsHallsBoundAndItsCutProvesIt) {
  Random random(11);
  int cuts = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    const int workers = 1 + static_cast<int>(random.below(7)), experts = 1 + static_cast<int>(random.below(16));
    Holders holders(experts);
    for (auto& list : holders) {
      list.push_back(static_cast<int>(random.below(workers)));
      for (int w = 0; w < workers; ++w)
        if (w != list.front() && random.below(4) == 0) list.push_back(w);
    }
    std::vector<std::int64_t> counts(experts);
    for (auto& n : counts) n = random.below(13);
    const Instance instance = instance_of(placed(workers, holders, 0), counts, 1);
    const Planned planned = plan(instance, 0);
    expect_sound(instance, planned);
    ASSERT_EQ(planned.loads.max_tiles, testing::hall(counts, workers, holders)) << "trial " << trial;
    ASSERT_EQ(planned.decision.max_tiles_before, planned.loads.max_tiles);
    ASSERT_EQ(planned.decision.ffn_ns_before, planned.loads.max_ns);
    ASSERT_TRUE(planned.decision.certified);
    if (planned.decision.cut.empty()) {
      ASSERT_EQ(planned.loads.max_tiles,
                ceil_div(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}), workers));
      continue;
    }
    ++cuts;
    const std::vector<int>& cut = planned.decision.cut;
    std::int64_t confined = 0;
    for (int e = 0; e < experts; ++e)
      if (std::all_of(holders[e].begin(), holders[e].end(),
                      [&](int w) { return std::binary_search(cut.begin(), cut.end(), w); }))
        confined += counts[e];
    ASSERT_EQ(ceil_div(confined, std::ssize(cut)), planned.loads.max_tiles);
  }
  EXPECT_GT(cuts, 500);
}

// Workers that only have a part of an expert are activated for it, its home only where it keeps a part.
TEST(TilePlanner, TellsTheTimeOfItsOwnSplit) {
  Random random(17);
  for (int trial = 0; trial < 500; ++trial) {
    Instance instance = random_instance(random, 4 + static_cast<int>(random.below(20)),
                                        2 + static_cast<int>(random.below(5)), 2, 600, 4, 50, 200);
    instance.cost.rule = trial % 2 == 0 ? LoadRule::additive : LoadRule::roofline;
    const Planned planned = plan(instance, 0);
    ASSERT_EQ(planned.decision.ffn_ns_before, planned.loads.max_ns) << "trial " << trial;
    ASSERT_LE(planned.decision.lower_bound_ns, planned.loads.max_ns);
  }
}

TEST(TilePlanner, BoundOfTheTimeIsTheVolumeOfWhatBinds) {
  Instance instance = instance_of(LayerPlacement::initial(2, 2, 0), {8, 2}, 1);
  instance.cost.c0_ns = 1;
  const auto bound = [&](LoadRule rule, Nanos c1_ns, Nanos c2_ns) {
    instance.cost.rule = rule, instance.cost.c1_ns = c1_ns, instance.cost.c2_ns = c2_ns;
    return plan(instance, 0).decision.lower_bound_ns;
  };
  EXPECT_EQ(bound(LoadRule::additive, 10, 3), 1 + (100 + 6) / 2);
  EXPECT_EQ(bound(LoadRule::roofline, 10, 3), 1 + 100 / 2);
  EXPECT_EQ(bound(LoadRule::roofline, 3, 100), 1 + 200 / 2);
}

// Everything small enough to try all copies: slots, what stands and what is busy vary.
TEST(TilePlanner, WithTheSearchEqualsBruteForceAndBoundsAreNeverAbove) {
  Random random(12);
  int with_copies = 0, certified = 0, searched = 0;
  constexpr int kTrials = 3000;
  for (int trial = 0; trial < kTrials; ++trial) {
    const int workers = 1 + static_cast<int>(random.below(4)), experts = 1 + static_cast<int>(random.below(5));
    const int slots = static_cast<int>(random.below(workers > 3 ? 2 : 4));
    Instance instance = random_instance(random, experts, workers, slots, random.below(28), 1, 1, 0);
    instance.cost.copy_ns = 0;
    const std::int64_t budget = random.below(std::min(workers, 3) + 1);
    BruteForce brute(instance.counts, workers, {1, 0});
    const std::int64_t optimum = brute.with_copies(instance.placement, instance.busy, budget);
    const Planned planned = plan(instance, budget, 100'000);
    expect_sound(instance, planned);
    ASSERT_LE(std::ssize(planned.decision.copies), budget);
    ASSERT_LE(planned.decision.lower_bound_tiles, optimum) << "trial " << trial;
    ASSERT_EQ(planned.loads.max_tiles, optimum) << "trial " << trial;
    ASSERT_EQ(planned.proven, optimum);
    ASSERT_FALSE(planned.decision.budget_hit);
    const Planned greedy = plan(instance, budget, 0);
    ASSERT_LE(greedy.proven, optimum);
    ASSERT_GE(greedy.loads.max_tiles, optimum);
    with_copies += !planned.decision.copies.empty();
    certified += planned.decision.certified;
    searched += !planned.decision.certified;
  }
  EXPECT_GT(with_copies, kTrials / 5);
  EXPECT_GT(certified, kTrials / 2);
  EXPECT_GT(searched, 5);
}

// No prefix of the copies gains as much as all of them, nor does making none.
TEST(TilePlanner, ThePrefixWithTheLargestGainStands) {
  Random random(13);
  int exposed = 0, several = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const int workers = 2 + static_cast<int>(random.below(5)), experts = workers + static_cast<int>(random.below(12));
    Instance instance = random_instance(random, experts, workers, 1 + static_cast<int>(random.below(3)),
                                        200 + random.below(400), 1, 10 + random.below(50), 0);
    instance.cost.copy_ns = random.below(600);
    instance.window_ns = random.below(900);
    const Planned planned = plan(instance, 2 * workers);
    expect_sound(instance, planned);
    const auto gain = [&](std::size_t copies) {
      const std::span<const Copy> prefix = std::span(planned.decision.copies).first(copies);
      const std::int64_t load = testing::hall(instance.counts, workers, holders_of(after(instance, prefix)));
      const Nanos migration = migration_ns(prefix, workers, instance.cost);
      return instance.cost.c1_ns * (planned.decision.max_tiles_before - load) -
             std::max<Nanos>(0, migration - instance.window_ns);
    };
    const std::size_t all = planned.decision.copies.size();
    for (std::size_t copies = 0; copies < all; ++copies)
      ASSERT_LT(gain(copies), gain(all)) << "trial " << trial << ", " << copies << " of " << all;
    several += all > 1;
    exposed += migration_ns(planned.decision.copies, workers, instance.cost) > instance.window_ns;
  }
  EXPECT_GT(several, 500);
  EXPECT_GT(exposed, 100);
}

TEST(TilePlanner, NeverCopiesPinnedExpertsNorToDrainingWorkers) {
  Random random(14);
  int copies = 0;
  for (int trial = 0; trial < 500; ++trial) {
    const Instance instance = random_instance(random, 24, 6, 2, 900, 1, 10, 0);
    std::vector<std::uint8_t> pinned(24);
    for (auto& flag : pinned) flag = random.below(3) == 0;
    std::vector<WorkerTraits> workers(6);
    workers[random.below(6)].draining = true;
    workers[random.below(6)].slowdown_permille = 1500;
    Request request = instance.request();
    request.pinned = pinned;
    request.workers = workers;
    TilePlanner planner({Objective::tiles, 6, true, Split::exact});
    Decision decision;
    planner.plan(request, decision);
    for (const Copy& copy : decision.copies) {
      EXPECT_FALSE(pinned[copy.expert]);
      EXPECT_FALSE(workers[copy.to].draining);
    }
    for (const TileShare& share : decision.assignment) {
      if (!workers[share.worker].draining) continue;
      for (const int w : instance.placement.holders(share.expert)) EXPECT_TRUE(workers[w].draining);
    }
    copies += static_cast<int>(decision.copies.size());
  }
  EXPECT_GT(copies, 500);
}

TEST(TilePlanner, KeepsNothingThatShowsInAPlan) {
  Random random(15);
  std::vector<Instance> instances;
  for (int i = 0; i < 60; ++i)
    instances.push_back(random_instance(random, 8 + static_cast<int>(random.below(30)),
                                        1 + static_cast<int>(random.below(8)), 2, 3000, 16, 3000, 9000));
  TilePlanner used({Objective::tiles, 6, true, Split::exact}, 50);
  Decision decision;
  for (const int stride : {1, 7, 11, 13})
    for (int i = 0; i < 60; ++i) {
      const Instance& instance = instances[i * stride % 60];
      used.plan(instance.request(), decision);
      TilePlanner fresh({Objective::tiles, 6, true, Split::exact}, 50);
      Decision expected;
      fresh.plan(instance.request(), expected);
      ASSERT_EQ(decision.copies, expected.copies);
      ASSERT_EQ(decision.assignment, expected.assignment);
      ASSERT_EQ(decision.lower_bound_tiles, expected.lower_bound_tiles);
      ASSERT_EQ(decision.lower_bound_ns, expected.lower_bound_ns);
      ASSERT_EQ(decision.ffn_ns_before, expected.ffn_ns_before);
      ASSERT_EQ(decision.cut, expected.cut);
      ASSERT_EQ(decision.certified, expected.certified);
      ASSERT_EQ(used.proven_tiles(), fresh.proven_tiles());
    }
}

TEST(TilePlanner, EdgesOfTheRange) {
  Random random(16);
  const Instance one = random_instance(random, 12, 1, 2, 500, 16, 10, 10);
  expect_sound(one, plan(one, 4));
  EXPECT_TRUE(plan(one, 4).decision.copies.empty());

  Instance none = random_instance(random, 12, 4, 2, 0, 16, 10, 10);
  const Planned nothing = plan(none, 4);
  EXPECT_TRUE(nothing.decision.assignment.empty());
  EXPECT_TRUE(nothing.decision.copies.empty());
  EXPECT_TRUE(nothing.decision.certified);
  EXPECT_EQ(nothing.decision.ffn_ns_before, none.cost.c0_ns);

  const Instance many = random_instance(random, 256, 1000, 2, 32768, 64, 3732, 12911);
  const Planned wide = plan(many, 1000);
  expect_sound(many, wide);
  EXPECT_GT(wide.decision.max_tiles_before, wide.loads.max_tiles);

  // Beyond 32 bits: split over what stands, as exactly.
  Instance huge = instance_of(LayerPlacement::initial(2, 2, 1), {std::int64_t{1} << 31, 3}, 1);
  huge.placement.set(1, 1, 0);
  const Planned split = plan(huge, 2);
  EXPECT_EQ(split.loads.max_tiles, (std::int64_t{1} << 30) + 2);
  EXPECT_TRUE(split.decision.certified);
}

}  // namespace
}  // namespace afore::placement
