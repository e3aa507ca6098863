// The exact splitter on problems worked by hand, at the edges of sizes and values, and its promises: the same answer
// whatever came before, nothing allocated once warm, no plan slower than the primaries.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "allocations.h"
#include "exact_cases.h"
#include "placement/exact/bounds.h"
#include "placement/exact/part_forest.h"
#include "placement/exact/time_split.h"
#include "placement/exact/waste.h"
#include "util/error.h"

namespace afore::placement {
namespace {

using testing::BruteSplit;
using testing::Random;
using testing::SplitCase;

constexpr std::int64_t kBudget = 300;

SplitCase make_case(int workers, std::vector<std::int64_t> tiles, std::vector<std::vector<int>> holders,
                    std::int64_t per_expert) {
  SplitCase made;
  made.workers = workers;
  made.tiles = std::move(tiles);
  made.holders = std::move(holders);
  made.per_expert = per_expert;
  made.build();
  return made;
}

// Replicas of lognormal demand: some slots hold a second replica of the hot experts.
SplitCase large_case(std::uint64_t seed, int experts, int workers, int slots, std::int64_t tokens) {
  Random random(seed);
  SplitCase made;
  made.workers = workers;
  made.per_tile = 5370;
  made.per_expert = 18570;
  std::vector<double> weight(experts);
  double sum = 0;
  for (double& w : weight) sum += w = std::exp(random.normal());
  for (int e = 0; e < experts; ++e) {
    const auto count = static_cast<std::int64_t>(static_cast<double>(tokens) * weight[e] / sum);
    made.tiles.push_back((count + 63) / 64);
    made.holders.push_back({initial_primary(e, experts, workers)});
  }
  std::vector<int> order(experts);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) { return weight[a] > weight[b]; });
  for (int i = 0; i < slots * workers; ++i) {
    std::vector<int>& holders = made.holders[order[i % (experts / 4 + 1)]];
    const auto worker = static_cast<int>(random.below(workers));
    if (std::find(holders.begin(), holders.end(), worker) == holders.end()) holders.push_back(worker);
  }
  made.build();
  return made;
}

TEST(ExactSplit, ProblemsWorkedByHand) {
  struct {
    SplitCase problem;
    std::int64_t best;
  } const cases[] = {
      {make_case(2, {8, 2}, {{0, 1}, {1}}, 2), 8},           // 6 + 2: two parts are forced
      {make_case(2, {5, 2}, {{0, 1}, {1}}, 4), 9},           // undivided, where every tile-optimal split takes 11
      {make_case(2, {6, 2, 1}, {{0}, {0, 1}, {1}}, 4), 11},  // a whole move; primaries take 16
      {make_case(2, {3, 3, 2, 2, 2}, {{0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}}, 3), 15},  // no subset sum in 13..14
      {make_case(2, {5, 5, 5}, {{0, 1}, {0, 1}, {0, 1}}, 4), 16},                        // one divided
      {make_case(3, {12}, {{0, 1, 2}}, 2), 6},                                           // three parts
      {make_case(3, {4, 3, 3}, {{0}, {0, 1}, {1, 2}}, 2), 6},  // whole moves along 0 -> 1 -> 2; primaries take 11
      {make_case(3, {9, 1}, {{0, 1}, {2}}, 2), 7},             // workers {0, 1} have 13 to share
  };
  ExactSplitter splitter;
  std::vector<std::int64_t> parts;
  for (const auto& [made, best] : cases) {
    EXPECT_EQ(BruteSplit(made).best(), best);
    const SplitResult planned = splitter.plan(made.problem(), parts);
    EXPECT_EQ(made.largest(parts), planned.load);
    EXPECT_LE(planned.bound, best);
    const SplitResult proved = splitter.prove(made.problem(), parts, kBudget);
    EXPECT_EQ(proved.load, best);
    EXPECT_TRUE(proved.certified());
    EXPECT_EQ(made.largest(parts), best);
  }
}

TEST(ExactSplit, BoundsWorkedByHand) {
  exact::Loads loads;
  exact::Grid grid;
  exact::SplitBounds bounds;
  exact::Waste waste;
  std::vector<std::int64_t> parts;
  const auto load = [&](const SplitCase& made) {
    loads.reset(made.problem(), parts, false);
    grid.reset(loads);
    bounds.reset(loads, grid);
  };
  const SplitCase forced = make_case(2, {8, 2}, {{0, 1}, {1}}, 2);
  load(forced);
  EXPECT_EQ(bounds.volume(10), 7);
  EXPECT_EQ(bounds.pinned(), 4);
  EXPECT_EQ(bounds.prefixes(0, 10), 7);
  EXPECT_EQ(bounds.forced(7, 10), 8);
  const SplitCase prefix = make_case(3, {9, 1}, {{0, 1}, {2}}, 2);
  load(prefix);
  EXPECT_EQ(bounds.volume(11), 5);
  EXPECT_EQ(bounds.forced(0, 11), 7);  // at 6 both replicas together hold 8 tiles of 9
  const SplitCase wasteful = make_case(2, {3, 3, 2, 2, 2}, {{0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}}, 3);
  load(wasteful);
  EXPECT_EQ(bounds.forced(bounds.volume(15), 15), 14);
  waste.reset(loads, 15);
  EXPECT_FALSE(waste.fits(bounds, 14));
  EXPECT_TRUE(waste.fits(bounds, 15));
}

// Twice as slow takes half as much.
TEST(ExactSplit, SlowWorkersTakeLess) {
  SplitCase made = make_case(2, {12}, {{0, 1}}, 0);
  made.traits = {{1000, 1000, false}, {2000, 1000, false}};
  made.build();
  ExactSplitter splitter;
  std::vector<std::int64_t> parts;
  EXPECT_EQ(splitter.plan(made.problem(), parts).load, 8);
  EXPECT_EQ(parts, (std::vector<std::int64_t>{8, 4}));
}

// Three experts' weights take 4 each: two on one worker take 8, and dividing one would activate a fourth part.
TEST(ExactSplit, RooflineCountsSeats) {
  SplitCase made = make_case(2, {2, 2, 2}, {{0, 1}, {0, 1}, {0, 1}}, 4);
  made.rule = LoadRule::roofline;
  ExactSplitter splitter;
  std::vector<std::int64_t> parts;
  const SplitResult result = splitter.plan(made.problem(), parts);
  EXPECT_EQ(result.load, 8);
  EXPECT_TRUE(result.certified());
}

TEST(ExactSplit, EqualLoadsActivateFewExperts) {
  // The first worker's pinned 10 decide; nothing has to be divided beside it.
  SplitCase made = make_case(3, {10, 3, 3}, {{0}, {1, 2}, {1, 2}}, 1);
  ExactSplitter splitter;
  std::vector<std::int64_t> parts;
  EXPECT_EQ(splitter.plan(made.problem(), parts).load, 11);
  EXPECT_EQ(std::count_if(parts.begin(), parts.end(), [](std::int64_t part) { return part > 0; }), 3);
}

TEST(ExactSplit, EmptyAndSingleProblems) {
  ExactSplitter splitter;
  std::vector<std::int64_t> parts;
  const SplitCase idle = make_case(2, {0, 0}, {{0, 1}, {1}}, 5);
  SplitResult result = splitter.plan(idle.problem(), parts);
  EXPECT_EQ(result.load, 0);
  EXPECT_TRUE(result.certified());
  EXPECT_EQ(parts, std::vector<std::int64_t>(3, 0));
  EXPECT_TRUE(splitter.prove(idle.problem(), parts, kBudget).certified());
  const SplitCase alone = make_case(1, {3, 4}, {{0}, {0}}, 5);
  result = splitter.plan(alone.problem(), parts);
  EXPECT_EQ(result.load, 17);
  EXPECT_TRUE(result.certified());
  const SplitCase one = make_case(4, {1}, {{2, 0, 1, 3}}, 5);
  result = splitter.plan(one.problem(), parts);
  EXPECT_EQ(result.load, 6);
  EXPECT_TRUE(result.certified());
}

TEST(ExactSplit, ExpertsWithTilesNeedAReplica) {
  ExactSplitter splitter;
  std::vector<std::int64_t> parts;
  const SplitCase lost = make_case(2, {0, 3}, {{}, {0, 1}}, 5);
  EXPECT_EQ(splitter.plan(lost.problem(), parts).load, 7);
  const SplitCase broken = make_case(2, {1, 3}, {{}, {0, 1}}, 5);
  EXPECT_THROW(splitter.plan(broken.problem(), parts), Error);
}

TEST(ExactSplit, LoadsNearTheEndOfTheRange) {
  ExactSplitter splitter;
  std::vector<std::int64_t> parts;
  Random random(5);
  for (const LoadRule rule : {LoadRule::additive, LoadRule::roofline})
    for (const bool slow : {false, true})
      for (int i = 0; i < 200; ++i) {
        SplitCase made = testing::small_case(random, rule, slow);
        // All loads together, whatever the split, reach 2^62: 1600 thousandths is the slowest worker.
        std::int64_t work = 1;
        for (std::size_t e = 0; e < made.tiles.size(); ++e)
          work +=
              std::max<std::int64_t>(made.per_tile, 1) * made.tiles[e] + made.per_expert * std::ssize(made.holders[e]);
        const std::int64_t spread = (std::int64_t{1} << 62) / (slow ? 8 * work : 5 * work) * 5;
        SplitCase large = made;
        if (i % 2 == 0) {
          for (std::int64_t& tiles : large.tiles) tiles *= spread;
        } else {
          large.per_tile *= spread;
          large.per_expert *= spread;
        }
        const SplitResult planned = splitter.plan(large.problem(), parts);
        ASSERT_EQ(large.largest(parts), planned.load);
        const SplitResult proved = splitter.prove(large.problem(), parts, kBudget);
        ASSERT_EQ(large.largest(parts), proved.load);
        ASSERT_LE(proved.bound, proved.load);
        ASSERT_LE(proved.load, large.on_primaries());
        if (i % 2 == 1 && !slow && proved.certified()) {
          ASSERT_EQ(proved.load, BruteSplit(made).best() * spread);
        }
      }
}

TEST(ExactSplit, ThousandWorkers) {
  ExactSplitter splitter;
  std::vector<std::int64_t> parts;
  const SplitCase made = large_case(3, 256, 1000, 2, 65536);
  const SplitResult planned = splitter.plan(made.problem(), parts);
  EXPECT_EQ(made.largest(parts), planned.load);
  const SplitResult proved = splitter.prove(made.problem(), parts, kBudget);
  EXPECT_EQ(made.largest(parts), proved.load);
  EXPECT_LE(proved.load, planned.load);
  EXPECT_LE(planned.load, made.on_primaries());
  EXPECT_GE(proved.bound, planned.bound);
}

TEST(ExactSplit, SameAnswerWhateverCameBefore) {
  ExactSplitter used;
  std::vector<std::int64_t> parts, fresh_parts;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const int workers = seed % 3 == 0 ? 32 : 8;
    const SplitCase made = large_case(seed, seed % 2 == 0 ? 32 : 96, workers, 2, 20000);
    ExactSplitter fresh;
    const SplitResult planned = used.plan(made.problem(), parts);
    EXPECT_EQ(fresh.plan(made.problem(), fresh_parts).load, planned.load);
    EXPECT_EQ(parts, fresh_parts);
    const SplitResult proved = used.prove(made.problem(), parts, kBudget);
    const SplitResult again = fresh.prove(made.problem(), fresh_parts, kBudget);
    EXPECT_EQ(parts, fresh_parts);
    EXPECT_EQ(again.load, proved.load);
    EXPECT_EQ(again.bound, proved.bound);
    EXPECT_EQ(again.budget_hit, proved.budget_hit);
  }
}

TEST(ExactSplit, NothingIsAllocatedOnceWarm) {
  ExactSplitter splitter;
  std::vector<std::int64_t> parts;
  for (const int workers : {8, 32}) {
    std::vector<SplitCase> cases;
    for (std::uint64_t seed = 1; seed <= 16; ++seed) cases.push_back(large_case(seed, 64, workers, 2, 20000));
    int most = 0;  // replicas: the buffers follow them
    for (int i = 1; i < 16; ++i)
      if (cases[i].table.replicas() > cases[most].table.replicas()) most = i;
    std::swap(cases[0], cases[most]);
    splitter.plan(cases[0].problem(), parts);
    splitter.prove(cases[0].problem(), parts, kBudget);
    for (const SplitCase& made : cases) {
      const std::size_t before = testing::allocations();
      splitter.plan(made.problem(), parts);
      const std::size_t between = testing::allocations();
      splitter.prove(made.problem(), parts, kBudget);
      EXPECT_EQ(between - before, 0u);
      EXPECT_EQ(testing::allocations() - between, 0u);
    }
  }
}

// 0 -- 1 -- 2: the middle worker belongs to both experts, so what its neighbours cannot take decides.
TEST(PartForest, LaysOutFromTheLeaves) {
  exact::PartForest forest;
  forest.reserve(4);
  forest.reset(4);
  const std::vector<int> first = {0, 1}, second = {1, 2};
  forest.push(0, 5, first);
  forest.push(1, 4, second);
  EXPECT_EQ(forest.root(0), forest.root(2));
  EXPECT_NE(forest.root(0), forest.root(3));
  const std::vector<std::int64_t> room = {3, 4, 2, 0}, tight = {3, 3, 2, 0};
  ASSERT_TRUE(forest.lay_out(room, 1));
  EXPECT_EQ(forest.tiles(0) + forest.tiles(1), 5);
  EXPECT_EQ(forest.tiles(2) + forest.tiles(3), 4);
  EXPECT_LE(forest.tiles(1) + forest.tiles(2), 4);
  EXPECT_FALSE(forest.lay_out(tight, 1));
  forest.pop();
  EXPECT_NE(forest.root(0), forest.root(2));
  EXPECT_TRUE(forest.lay_out(tight, 1));
}

// No part stands that the expert's other parts could take without the largest load growing.
TEST(ExactSplit, PartsThatFitElsewhereAreMerged) {
  ExactSplitter splitter;
  int experts_in_parts = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const SplitCase made = large_case(seed, 32, 8, 3, 6000);
    std::vector<std::int64_t> parts, there(made.workers, 0), active(made.workers, 0);
    const std::int64_t most = splitter.plan(made.problem(), parts).load;
    for (int id = 0; id < made.table.replicas(); ++id) {
      there[made.table.worker(id)] += parts[id];
      active[made.table.worker(id)] += parts[id] > 0;
    }
    for (int e = 0; e < 32; ++e) {
      const int begin = made.table.first(e), end = made.table.first(e + 1);
      const auto several = std::count_if(parts.begin() + begin, parts.begin() + end, [](auto n) { return n > 0; });
      if (several < 2) continue;
      ++experts_in_parts;
      for (int id = begin; id < end; ++id) {
        if (parts[id] == 0) continue;
        std::int64_t room = 0;
        for (int to = begin; to < end; ++to) {
          const int w = made.table.worker(to);
          if (to != id && parts[to] > 0) room += (most - made.load(w, there[w], active[w])) / made.per_tile;
        }
        EXPECT_LT(room, parts[id]) << "seed " << seed << ", expert " << e;
      }
    }
  }
  EXPECT_GT(experts_in_parts, 20);
}

}  // namespace
}  // namespace afore::placement
