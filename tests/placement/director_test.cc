// Director's optimiser: bounds against brute force, cases worked by hand, and what must hold of any plan.
#include <gtest/gtest.h>

#include <cmath>

#include "instances.h"
#include "placement/director/anneal.h"
#include "placement/director/hull.h"
#include "placement/director/linear_program.h"
#include "placement/director/solve.h"
#include "placement/registry.h"

namespace afore::placement::director {
namespace {

using placement::testing::BruteForce;
using placement::testing::Instance;
using placement::testing::Random;
using placement::testing::random_instance;

struct Case {
  Instance instance;
  std::vector<WorkerTraits> traits = {};
  std::vector<std::uint8_t> pinned = {};

  Request request() const {
    Request request = instance.request();
    request.workers = traits;
    request.pinned = pinned;
    return request;
  }
};

// One token a tile, empty slots.
Case plain(std::vector<std::int64_t> counts, int workers, int slots, Nanos c1, Nanos c2) {
  Case made{{LayerPlacement::initial(static_cast<int>(counts.size()), workers, slots), std::move(counts), {}, {}, {}}};
  made.instance.cost.c1_ns = c1;
  made.instance.cost.c2_ns = c2;
  made.instance.cost.tile_tokens = 1;
  return made;
}

Options options(std::int64_t copies, double row_ns = 0) {
  Options options;
  options.copy_budget = copies;
  options.link.row_ns = row_ns;
  return options;
}

Solution solved(const Case& made, const Options& options) {
  Solver solver;
  Solution solution;
  solver.solve(made.request(), options, solution);
  return solution;
}

// What must hold of any plan, recounted from the request; returns the longest compute time.
Nanos check(const Case& made, const Solution& solution, std::int64_t budget) {
  const Instance& instance = made.instance;
  EXPECT_LE(std::ssize(solution.copies), budget);
  LayerPlacement placement = instance.placement;
  std::vector<std::uint8_t> taken(placement.index_count(), 0);
  for (const Copy& copy : solution.copies) {
    const std::size_t at = placement.index(copy.to, copy.slot);
    EXPECT_FALSE(placement.is_primary_slot(copy.to, copy.slot));
    EXPECT_TRUE(instance.busy.empty() || !instance.busy[at]);
    EXPECT_FALSE(taken[at]);
    EXPECT_FALSE(placement.holds(copy.expert, copy.to));
    EXPECT_EQ(copy.from, placement.primary(copy.expert));
    EXPECT_FALSE(drains(made.traits, copy.to));
    EXPECT_TRUE(made.pinned.empty() || !made.pinned[copy.expert]);
    taken[at] = 1;
    placement.set(copy.to, copy.slot, copy.expert);
  }
  std::vector<std::int64_t> tiles, sum(instance.counts.size(), 0);
  count_tiles(instance.counts, instance.cost.tile_tokens, tiles);
  for (const TileShare& share : solution.assignment) {
    EXPECT_GT(share.tiles, 0);
    EXPECT_TRUE(placement.holds(share.expert, share.worker));
    if (drains(made.traits, share.worker)) {
      for (const int holder : placement.holders(share.expert)) EXPECT_TRUE(drains(made.traits, holder));
    }
    sum[share.expert] += share.tiles;
  }
  EXPECT_EQ(sum, tiles);
  EXPECT_LE(solution.objective_ns, solution.standing_ns);
  EXPECT_LE(solution.bound_ns, solution.objective_ns);
  EXPECT_GE(solution.ratio(), 1);
  return worker_loads(solution.assignment, placement.workers(), instance.cost, made.traits).max_ns;
}

TEST(Director, BoundAndPlanEncloseTheBruteForcedOptimum) {
  Random random(5);
  int optimal = 0, tight = 0, copied = 0;
  for (int trial = 0; trial < 150; ++trial) {
    const auto workers = static_cast<int>(2 + random.below(2)), experts = static_cast<int>(3 + random.below(3));
    const Nanos c2 = random.below(3) * 3;
    Case made{random_instance(random, experts, workers, 1, 10 + random.below(8), 1, 1 + random.below(4), c2)};
    const std::int64_t copies = random.below(3);
    std::vector<std::int64_t> tiles;
    count_tiles(made.instance.counts, 1, tiles);
    BruteForce brute(tiles, workers, {made.instance.cost.c1_ns, c2});
    const Nanos best =
        made.instance.cost.c0_ns + brute.with_copies(made.instance.placement, made.instance.busy, copies);
    const Solution solution = solved(made, options(copies));
    EXPECT_EQ(check(made, solution, copies), solution.objective_ns);
    EXPECT_LE(solution.bound_ns, best) << trial;
    EXPECT_GE(solution.objective_ns, best) << trial;
    optimal += solution.objective_ns == best;
    tight += solution.bound_ns == best;
    copied += !solution.copies.empty();
  }
  EXPECT_GT(optimal, 140);
  EXPECT_GT(tight, 75);
  EXPECT_GT(copied, 40);
}

TEST(Director, SameInputSamePlanWhateverWasSolvedBefore) {
  Random random(6);
  Solver used;
  std::size_t copies = 0;
  for (int trial = 0; trial < 40; ++trial) {
    Case made{random_instance(random, 32, 8, 2, 4000, 64, 5370, 18570)};
    Solution first;
    used.solve(made.request(), options(8), first);
    const Solution again = solved(made, options(8));
    EXPECT_EQ(first.copies, again.copies);
    EXPECT_EQ(first.assignment, again.assignment);
    EXPECT_EQ(first.bound_ns, again.bound_ns);
    copies += first.copies.size();
  }
  EXPECT_GT(copies, 20u);
}

TEST(Director, LimitsAreKeptWhereWorkersDifferAndUnderEitherRule) {
  Random random(7);
  std::size_t copies = 0;
  for (int trial = 0; trial < 120; ++trial) {
    const auto workers = static_cast<int>(2 + random.below(6));
    const auto experts = static_cast<int>(2 + random.below(20));
    Case made{random_instance(random, experts, workers, static_cast<int>(random.below(4)), 1500, 16, 500, 900)};
    if (trial % 3 == 0) made.instance.cost.rule = LoadRule::roofline;
    made.traits.resize(workers);
    for (WorkerTraits& traits : made.traits) {
      if (random.below(3) == 0) traits.slowdown_permille = 500 + random.below(3000);
      traits.draining = random.below(5) == 0;
    }
    made.traits[0].draining = false;
    made.pinned.assign(experts, 0);
    for (auto& pinned : made.pinned) pinned = random.below(4) == 0;
    const double row_ns = trial % 4 == 0 ? 3.7 : 0;
    const Solution solution = solved(made, options(5, row_ns));
    const Nanos compute = check(made, solution, 5);
    if (row_ns == 0) {
      EXPECT_EQ(compute, solution.objective_ns);
    } else {
      EXPECT_LT(compute, solution.objective_ns);
    }
    copies += solution.copies.size();
  }
  EXPECT_GT(copies, 60u);
}

TEST(Director, NothingToDo) {
  const Solution none = solved(plain({0, 0, 0, 0}, 2, 1, 10, 5), options(4));
  EXPECT_TRUE(none.assignment.empty());
  EXPECT_TRUE(none.copies.empty());
  EXPECT_EQ(none.objective_ns, 0);
  EXPECT_EQ(none.ratio(), 1);
  const Solution alone = solved(plain({3, 5, 2}, 1, 2, 10, 5), options(4));
  EXPECT_TRUE(alone.copies.empty());
  EXPECT_EQ(alone.objective_ns, 115);
  EXPECT_EQ(alone.bound_ns, 115);
  const Solution free = solved(plain({3, 5, 2, 0}, 2, 1, 0, 0), options(4));
  EXPECT_EQ(free.objective_ns, 0);
}

TEST(Director, OneCopyHalvesTheLoad) {
  const Case made = plain({7, 1}, 2, 1, 10, 0);
  const Solution solution = solved(made, options(1));
  EXPECT_EQ(solution.copies, (std::vector<Copy>{{0, 0, 1, 1}}));
  EXPECT_EQ(solution.assignment, (std::vector<TileShare>{{0, 0, 4}, {0, 1, 3}, {1, 1, 1}}));
  EXPECT_EQ(solution.standing_ns, 70);
  EXPECT_EQ(solution.objective_ns, 40);
  EXPECT_EQ(solution.bound_ns, 40);
}

// Worker 1 takes three times as long: 4 and 4 tiles are best with worker 2, with worker 1 it would be 6 and 2.
TEST(Director, CopiesGoToFastWorkers) {
  Case made = plain({8, 0, 0}, 3, 1, 10, 0);
  made.traits = {{}, {3000, 1000, false}, {}};
  const Solution solution = solved(made, options(1));
  ASSERT_EQ(solution.copies.size(), 1u);
  EXPECT_EQ(solution.copies[0].to, 2);
  EXPECT_EQ(solution.objective_ns, 40);
  EXPECT_EQ(solution.ratio(), 1);
}

// Two experts on worker 0 read weights for 200 ns and compute for 90. Apart they take 100 each.
TEST(Director, RooflineRuleCountsTheLongerTerm) {
  Case made = plain({8, 1, 0, 0}, 2, 1, 10, 100);
  made.instance.cost.rule = LoadRule::roofline;
  const Solution solution = solved(made, options(1));
  EXPECT_EQ(solution.standing_ns, 200);
  EXPECT_EQ(solution.objective_ns, 100);
  EXPECT_EQ(solution.bound_ns, 100);
}

// Tiles are balanced, 2 and 2; rows are not, 128 and 2. An exchange leaves the tiles and makes 65 and 65 rows.
TEST(Director, RowsOnTheLinkChangeTheChoice) {
  Case made = plain({64, 64, 1, 1}, 2, 1, 100, 0);
  made.instance.cost.tile_tokens = 64;
  EXPECT_TRUE(solved(made, options(2)).copies.empty());
  const Solution solution = solved(made, options(2, 10));
  EXPECT_EQ(solution.copies.size(), 2u);
  EXPECT_EQ(solution.standing_ns, 200 + 1280);
  EXPECT_EQ(solution.objective_ns, 200 + 650);
  EXPECT_EQ(solution.bound_ns, 200 + 650);
}

TEST(Director, EmptySlotsFirstThenTheLeastRecentlyUsed) {
  Case made = plain({8, 0, 0, 0, 0, 0}, 2, 2, 10, 0);
  LayerPlacement& placement = made.instance.placement;
  placement.set(1, 3, 1);
  EXPECT_EQ(solved(made, options(1)).copies, (std::vector<Copy>{{0, 0, 1, 4}}));
  placement.set(1, 4, 2);
  made.instance.last_used.assign(placement.index_count(), 5);
  made.instance.last_used[placement.index(1, 4)] = 4;
  EXPECT_EQ(solved(made, options(1)).copies, (std::vector<Copy>{{0, 0, 1, 4}}));
  made.instance.busy.assign(placement.index_count(), 0);
  made.instance.busy[placement.index(1, 4)] = 1;
  EXPECT_EQ(solved(made, options(1)).copies, (std::vector<Copy>{{0, 0, 1, 3}}));
  made.instance.busy[placement.index(1, 3)] = 1;
  EXPECT_TRUE(solved(made, options(1)).copies.empty());
}

TEST(Director, ALargeLayerIsPlanned) {
  Random random(8);
  const Case made{random_instance(random, 256, 128, 2, 65536, 64, 5370, 18570)};
  const Solution solution = solved(made, options(128));
  check(made, solution, 128);
  EXPECT_LT(solution.objective_ns, solution.standing_ns);
  EXPECT_LT(solution.ratio(), 1.5);
}

TEST(Director, StaysNearItsBoundOnTypicalLayers) {
  Random random(9);
  std::vector<double> ratios;
  for (int trial = 0; trial < 40; ++trial) {
    const Case made{random_instance(random, 64, 8, 2, 8192, 64, 5370, 18570)};
    ratios.push_back(solved(made, options(8)).ratio());
  }
  std::sort(ratios.begin(), ratios.end());
  EXPECT_LT(ratios[20], 1.05);
}

TEST(Director, NeverWorseThanThePlansOfItsBaseline) {
  Random random(10);
  Nanos director = 0, annealing = 0, standing = 0;
  for (int trial = 0; trial < 40; ++trial) {
    const Case made{random_instance(random, 32, 8, 2, 4000, 64, 5370, 18570)};
    Annealer annealer;
    Solution baseline, again;
    AnnealOptions annealed;
    annealed.copy_budget = 8;
    annealer.solve(made.request(), annealed, baseline);
    Annealer().solve(made.request(), annealed, again);
    EXPECT_EQ(baseline.assignment, again.assignment);
    check(made, baseline, 8);
    annealing += baseline.objective_ns;
    standing += baseline.standing_ns;
    director += solved(made, options(8)).objective_ns;
  }
  EXPECT_LT(annealing, standing);
  EXPECT_LT(director, annealing);
}

TEST(Director, PolicyStatesTheRelaxationsBound) {
  Random random(11);
  const auto policy = find_policy("director")->make({Objective::time, 8});
  int above = 0;
  for (int trial = 0; trial < 20; ++trial) {
    const Instance instance = random_instance(random, 32, 8, 2, 4000, 64, 5370, 18570);
    const Decision decision = policy->decide(instance.request());
    const Nanos ns = worker_loads(decision.assignment, 8, instance.cost).max_ns;
    EXPECT_LE(decision.relaxation_bound_ns, ns);
    EXPECT_GE(decision.relaxation_bound_ns, decision.lower_bound_ns);
    EXPECT_LE(ns, decision.ffn_ns_before);
    above += decision.relaxation_bound_ns > decision.lower_bound_ns;
  }
  EXPECT_GT(above, 5);
}

// min x + y over x + 2 y >= 3, 3 x + y >= 4, both at most 5: x = 1, y = 1.
TEST(LinearProgram, BoundIsProvenByItsPrices) {
  Program program;
  program.row_lower = {3, 4};
  program.row_upper = {kInfinite, kInfinite};
  program.add_entry(0, 1);
  program.add_entry(1, 3);
  program.end_column(1, 5);
  program.add_entry(0, 2);
  program.add_entry(1, 1);
  program.end_column(1, 5);
  LinearProgram solver;
  solver.load(program);
  solver.solve(program);
  EXPECT_NEAR(solver.value(0), 1, 1e-9);
  EXPECT_LE(solver.dual_bound(), 2);
  EXPECT_NEAR(solver.dual_bound(), 2, 1e-6);
  program.row_lower[1] = 9;  // from the last basis: x = 3, y = 0
  solver.solve(program);
  EXPECT_NEAR(solver.dual_bound(), 3, 1e-6);
}

TEST(Hull, EdgesHoldForAllThatFitsAndAreMet) {
  Random random(12);
  int met = 0;
  for (int trial = 0; trial < 300; ++trial) {
    LayerCost cost;
    cost.c1_ns = 1 + random.below(20);
    cost.c2_ns = random.below(40);
    if (trial % 3 == 0) cost.rule = LoadRule::roofline;
    const std::int64_t room = random.below(400);
    Hull hull;
    hull.reset(cost, room, 12, static_cast<double>(random.below(80)) / 10);
    std::vector<int> tight(Hull::kEdges, 0);
    for (std::int64_t active = 1; active <= 12; ++active)
      for (std::int64_t tiles = active; cost.load_ns(tiles, active) <= room; ++tiles)
        for (int i = 0; i < Hull::kEdges; ++i) {
          const Edge& edge = hull.edge(i);
          const double used =
              edge.per_tile * static_cast<double>(tiles) + edge.per_active * static_cast<double>(active);
          EXPECT_LE(used, edge.limit + 1e-9) << trial;
          tight[i] |= std::abs(used - edge.limit) < 1e-9;
        }
    met += tight[0] + tight[1] + tight[2];
  }
  EXPECT_GT(met, 600);
}

}  // namespace
}  // namespace afore::placement::director
