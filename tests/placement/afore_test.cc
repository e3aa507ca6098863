// What policy afore is made of, and the whole: primaries at load, residents, levelling.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "instances.h"
#include "placement/backlog.h"
#include "placement/fill_rule.h"
#include "placement/level.h"
#include "placement/primaries.h"

namespace afore::placement {
namespace {

using testing::Random;
using Loads = std::vector<std::int64_t>;

Loads worker_sums(const LayerPlacement& placement, const Loads& loads) {
  Loads sum(placement.workers(), 0);
  for (std::size_t i = 0; i < loads.size(); ++i)
    sum[placement.primary(static_cast<int>(i % placement.experts()))] += loads[i];
  return sum;
}

LayerPlacement balanced(const Loads& loads, int experts, int workers, int slots) {
  Loads earlier(workers, 0);
  return balance_primaries(loads, experts, workers, slots, earlier);
}

// One expert each: who has the hottest expert of a layer gets the coldest of the next.
TEST(Primaries, SpreadTheirGroupsOverLayers) {
  Loads earlier(3, 0);
  const Loads loads = {9, 5, 1};
  EXPECT_EQ(worker_sums(balance_primaries(loads, 3, 3, 0, earlier), loads), (Loads{9, 5, 1}));
  EXPECT_EQ(worker_sums(balance_primaries(loads, 3, 3, 0, earlier), loads), (Loads{1, 5, 9}));
  EXPECT_EQ(earlier, (Loads{10, 10, 10}));
}

TEST(Primaries, AreBalancedWithEqualCounts) {
  const Loads loads = {9, 8, 7, 1, 1, 1};
  const LayerPlacement placement = balanced(loads, 6, 3, 2);
  EXPECT_EQ(worker_sums(placement, loads), (Loads{10, 9, 8}));
  EXPECT_EQ(placement.slots_per_worker(), 4);
  for (int w = 0; w < 3; ++w) {
    int held = 0;
    for (int slot = 0; slot < 4; ++slot) held += placement.expert_at(w, slot) != kNoExpert;
    EXPECT_EQ(held, 2);
    EXPECT_EQ(placement.expert_at(w, 2), kNoExpert);  // the redundant ones come last, empty
  }
  EXPECT_EQ(balanced({}, 6, 3, 2), LayerPlacement::initial(6, 3, 2));
}

// Two workloads whose sums are alike: only their largest loads tell experts 0 and 1 apart from 2 and 3.
TEST(Primaries, ExchangesLookAtTargetsNotAtSums) {
  const Loads loads = {8, 8, 0, 0,  //
                       0, 0, 8, 8};
  const LayerPlacement placement = balanced(loads, 4, 2, 0);
  EXPECT_NE(placement.primary(0), placement.primary(1));
  EXPECT_NE(placement.primary(2), placement.primary(3));
}

TEST(Primaries, AreNeverWorseThanContiguousOnAverage) {
  Random random(7);
  for (int round = 0; round < 100; ++round) {
    const int workers = static_cast<int>(random.below(8)) + 1;
    const int experts = workers * (static_cast<int>(random.below(4)) + 1);
    Loads loads(static_cast<std::size_t>(experts) * 12);
    for (auto& load : loads) load = random.below(100) * random.below(10);
    const auto mean_max = [&](const LayerPlacement& placement) {
      std::int64_t sum = 0;
      for (std::size_t at = 0; at < loads.size(); at += experts) {
        const Loads one(loads.begin() + static_cast<std::ptrdiff_t>(at),
                        loads.begin() + static_cast<std::ptrdiff_t>(at + experts));
        const Loads sums = worker_sums(placement, one);
        sum += *std::max_element(sums.begin(), sums.end());
      }
      return sum;
    };
    EXPECT_LE(mean_max(balanced(loads, experts, workers, 1)), mean_max(LayerPlacement::initial(experts, workers, 1)));
  }
}

TEST(FillRule, HottestPerReplicaToTheLeastLoaded) {
  FillRule rule;
  const std::vector<int> homes = {0, 0, 1, 2};
  const std::vector<double> work = {12, 1, 3, 2};
  rule.reset(homes, work, {}, 3);
  for (const int w : {0, 1, 2}) rule.add_empty(w);
  Fill fill;
  ASSERT_TRUE(rule.next(fill));  // 12 on worker 0; worker 2 has least
  EXPECT_EQ(fill.expert, 0);
  EXPECT_EQ(fill.worker, 2);
  ASSERT_TRUE(rule.next(fill));  // still 6 per replica
  EXPECT_EQ(fill.expert, 0);
  EXPECT_EQ(fill.worker, 1);
  ASSERT_TRUE(rule.next(fill));  // expert 0 is everywhere; expert 2 has most
  EXPECT_EQ(fill.expert, 2);
  EXPECT_EQ(fill.worker, 0);
  EXPECT_FALSE(rule.next(fill));
  const std::vector<std::uint8_t> pinned = {1, 1, 1, 1};
  rule.reset(homes, work, pinned, 3);
  rule.add_empty(1);
  EXPECT_FALSE(rule.next(fill));
}

TEST(Backlog, IsWhatIsLeftWhenTheTargetArrives) {
  Backlog two(2);
  const auto expect = [&](Backlog& backlog, const Loads& wanted) {
    const auto before = backlog.before(3);
    EXPECT_EQ(Loads(before.begin(), before.end()), wanted);
  };
  expect(two, {0, 0, 0});
  two.add(Loads{10, 4, 0}, 1);  // done at 11, 5, 0
  expect(two, {11, 5, 0});      // the next comes at once: two are in flight
  two.add(Loads{1, 1, 6}, 1);   // 13, 7, 7; the third comes when the first is done, at 11
  expect(two, {2, 0, 0});
  two.add(Loads{0, 0, 0}, 1);
  expect(two, {0, 0, 0});  // comes at 13

  Backlog one(1);
  one.before(2);
  one.add(Loads{10, 4}, 1);
  const auto before = one.before(2);
  EXPECT_EQ(Loads(before.begin(), before.end()), (Loads{0, 0}));  // one microbatch waits for itself
}

struct Levelled {
  ReplicaTable table;
  Loads parts;
};

TEST(Leveler, MovesWholePartsToWhoIsDoneEarly) {
  // Expert 0 on workers 0 and 1, expert 1 on worker 1 only.
  Levelled l;
  const ReplicaTable::Extra extras[] = {{0, 1}};
  l.table.assign(std::vector<int>{0, 1}, 2, extras);
  const Loads tiles = {3, 1};
  const SplitProblem problem{l.table, tiles, LoadRule::additive, 2, 5, {}};
  Leveler leveler;
  l.parts = {3, 0, 1};
  // Alone, worker 0 takes 11 and worker 1 takes 7. Worker 0 is 10 behind.
  EXPECT_EQ(leveler.level(problem, Loads{10, 0}, 100, l.parts), 18);
  EXPECT_EQ(l.parts, (Loads{0, 3, 1}));
  l.parts = {3, 0, 1};
  EXPECT_EQ(leveler.level(problem, Loads{10, 0}, 17, l.parts), 21);  // worker 1 would take 18
  EXPECT_EQ(l.parts, (Loads{3, 0, 1}));
  l.parts = {0, 3, 1};
  leveler.go_home(problem, 11, l.parts);
  EXPECT_EQ(l.parts, (Loads{3, 0, 1}));
  l.parts = {0, 3, 1};
  leveler.go_home(problem, 10, l.parts);
  EXPECT_EQ(l.parts, (Loads{0, 3, 1}));
}

TEST(Leveler, NeverEndsLaterAndKeepsTilesAndCaps) {
  Random random(3);
  for (int round = 0; round < 500; ++round) {
    const int workers = static_cast<int>(random.below(6)) + 1, experts = static_cast<int>(random.below(12)) + 1;
    std::vector<int> homes(experts);
    for (int& home : homes) home = static_cast<int>(random.below(workers));
    std::vector<ReplicaTable::Extra> extras;
    for (int e = 0; e < experts; ++e)
      for (int w = 0; w < workers; ++w)
        if (w != homes[e] && random.below(3) == 0) extras.push_back({e, w});
    ReplicaTable table;
    table.assign(homes, workers, extras);
    Loads tiles(experts), parts(table.replicas(), 0), backlog(workers);
    for (auto& n : tiles) n = random.below(6);
    for (auto& b : backlog) b = random.below(40);
    for (int e = 0; e < experts; ++e)
      for (std::int64_t n = 0; n < tiles[e]; ++n)
        ++parts[table.first(e) + static_cast<int>(random.below(table.count(e)))];
    const LoadRule rule = random.below(2) == 0 ? LoadRule::additive : LoadRule::roofline;
    const SplitProblem problem{table, tiles, rule, 3, random.below(12), {}};
    WorkerState state;
    state.reset(problem, parts);
    std::int64_t before = 0, cap = 0;
    for (int w = 0; w < workers; ++w) {
      if (state.load(w) > 0) before = std::max(before, backlog[w] + state.load(w));
      cap = std::max(cap, state.load(w));
    }
    Leveler leveler;
    const std::int64_t after = leveler.level(problem, backlog, cap, parts);
    EXPECT_LE(after, before);
    state.reset(problem, parts);
    std::int64_t latest = 0;
    for (int w = 0; w < workers; ++w) {
      EXPECT_LE(state.load(w), cap);
      EXPECT_EQ(state.load(w), leveler.loads()[w]);
      if (state.load(w) > 0) latest = std::max(latest, backlog[w] + state.load(w));
    }
    EXPECT_EQ(latest, after);
    for (int e = 0; e < experts; ++e)
      EXPECT_EQ(std::accumulate(parts.begin() + table.first(e), parts.begin() + table.first(e + 1), std::int64_t{0}),
                tiles[e]);
  }
}

// One hot expert per worker pair: after the fill every target is balanced, and then nothing is copied any more.
TEST(Afore, FillsItsSlotsAndSettles) {
  Limits limits;
  limits.objective = Objective::time;
  limits.copy_budget = 8;
  limits.microbatches = 3;
  const auto policy = make_afore(limits);
  LayerCost cost;
  cost.c0_ns = 10;
  cost.c1_ns = 100;
  cost.c2_ns = 300;
  cost.tile_tokens = 4;
  cost.copy_ns = 500;
  LayerPlacement placement = LayerPlacement::initial(16, 4, 2);
  Random random(11);
  std::int64_t late_copies = 0, ns = 0, static_ns = 0;
  for (int step = 0; step < 400; ++step) {
    std::vector<std::int64_t> counts(16);
    for (int e = 0; e < 16; ++e) counts[e] = random.below(8) + (e < 4 ? 40 : 4);  // worker 0 is hot
    const Decision decision = policy->decide({{step, 0, 0}, counts, placement, {}, {}, cost, 0});
    const WorkerLoads loads = worker_loads(decision.assignment, 4, cost);
    std::vector<std::int64_t> tiles;
    count_tiles(counts, cost.tile_tokens, tiles);
    if (step >= 100) {
      late_copies += std::ssize(decision.copies);
      ns += loads.max_ns;
      static_ns += worker_loads(primary_assignment(tiles, placement), 4, cost).max_ns;
    }
    for (const Copy& copy : decision.copies) {
      ASSERT_FALSE(placement.is_primary_slot(copy.to, copy.slot));
      ASSERT_FALSE(placement.holds(copy.expert, copy.to));
      placement.set(copy.to, copy.slot, copy.expert);
    }
  }
  int filled = 0;
  for (int e = 0; e < 16; ++e) filled += static_cast<int>(placement.holders(e).size()) - 1;
  EXPECT_EQ(filled, 8);
  EXPECT_LE(late_copies, 6);
  EXPECT_LT(ns * 10, static_ns * 8);
}

TEST(Afore, LeavesDrainingWorkersAndPinnedExpertsAlone) {
  Limits limits;
  limits.copy_budget = 8;
  const auto policy = make_afore(limits);
  LayerCost cost;
  cost.c1_ns = 100;
  cost.c2_ns = 1;
  cost.tile_tokens = 1;
  cost.copy_ns = 1;
  LayerPlacement placement = LayerPlacement::initial(8, 4, 2);
  placement.set(1, 2, 0);  // expert 0 stands on workers 0 and 1 too
  const std::vector<WorkerTraits> traits = {{1000, 1000, true}, {}, {}, {}};
  std::vector<std::uint8_t> pinned(8, 0);
  pinned[1] = 1;
  for (int step = 0; step < 60; ++step) {
    const std::vector<std::int64_t> counts = {20, 30, 1, 1, 1, 1, 1, 1};
    Request request{{step, 0, 0}, counts, placement, {}, {}, cost, 1'000'000};
    request.workers = traits;
    request.pinned = pinned;
    const Decision decision = policy->decide(request);
    for (const Copy& copy : decision.copies) {
      EXPECT_NE(copy.to, 0);
      EXPECT_NE(copy.expert, 1);
      placement.set(copy.to, copy.slot, copy.expert);
    }
    for (const TileShare& share : decision.assignment)
      EXPECT_TRUE(share.worker != 0 || share.expert == 1);  // which stands nowhere else
  }
}

// The time before is that without copies: not what the target's own copies reach, nor above what was planned.
TEST(Afore, TheTimeBeforeIsThatWithoutCopies) {
  Random random(23);
  int copied = 0, still = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const testing::Instance instance =
        testing::random_instance(random, 16, 4, 2, 600 + random.below(2000), 16, 5370, 18570);
    Limits limits;
    limits.copy_budget = trial % 3;
    limits.microbatches = 3;
    const Decision decision = make_afore(limits)->decide(instance.request());
    const WorkerLoads loads = worker_loads(decision.assignment, 4, instance.cost);
    if (decision.copies.empty()) {
      ASSERT_LE(decision.ffn_ns_before, loads.max_ns) << "trial " << trial;
      ++still;
    } else {
      ASSERT_GT(decision.ffn_ns_before, loads.max_ns) << "trial " << trial;
      ++copied;
    }
  }
  EXPECT_GT(copied, 20);
  EXPECT_GT(still, 20);
}

// Which experts are hot changes for good: the replicas follow, one slot at a time, and then it is quiet again.
TEST(Afore, ResidentsFollowAShift) {
  Limits limits;
  limits.copy_budget = 8;
  limits.microbatches = 3;
  const auto policy = make_afore(limits);
  LayerCost cost;
  cost.c0_ns = 10;
  cost.c1_ns = 100;
  cost.c2_ns = 20;
  cost.tile_tokens = 4;
  cost.copy_ns = 500;
  LayerPlacement placement = LayerPlacement::initial(16, 4, 2);
  Random random(29);
  std::int64_t settled_ns = 0, after_ns = 0, follow = 0;
  for (int step = 0; step < 900; ++step) {
    const int hot = step < 300 ? 0 : 4;
    std::vector<std::int64_t> counts(16);
    for (int e = 0; e < 16; ++e) counts[e] = random.below(8) + (e >= hot && e < hot + 4 ? 40 : 4);
    const Decision decision = policy->decide({{step, 0, 0}, counts, placement, {}, {}, cost, 0});
    const Nanos ns = worker_loads(decision.assignment, 4, cost).max_ns;
    if (step >= 200 && step < 300) settled_ns += ns;
    if (step >= 800) after_ns += ns;
    if (step >= 300) follow += std::ssize(decision.copies);
    for (const Copy& copy : decision.copies) placement.set(copy.to, copy.slot, copy.expert);
  }
  EXPECT_GE(follow, 2);
  EXPECT_LT(after_ns * 10, settled_ns * 11);
  int replicas = 0;
  for (int e = 4; e < 8; ++e) replicas += static_cast<int>(placement.holders(e).size()) - 1;
  EXPECT_GE(replicas, 3);
}

}  // namespace
}  // namespace afore::placement
