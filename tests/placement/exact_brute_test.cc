// The exact splitter against brute force on tiny problems, under both rules, with and without slowdowns.
#include <gtest/gtest.h>

#include <tuple>

#include "exact_cases.h"
#include "placement/exact/bounds.h"
#include "placement/exact/clusters.h"
#include "placement/exact/grid.h"
#include "placement/exact/time_split.h"
#include "placement/exact/waste.h"

namespace afore::placement {
namespace {

using testing::BruteSplit;
using testing::Random;
using testing::SplitCase;

constexpr int kCases = 3000;

class ExactRule : public ::testing::TestWithParam<std::tuple<LoadRule, bool>> {
 protected:
  SplitCase next() { return testing::small_case(random_, std::get<0>(GetParam()), std::get<1>(GetParam())); }
  Random random_{std::get<1>(GetParam()) ? 11u : 7u};
};

TEST_P(ExactRule, BoundOptimumAndLoadAreInOrder) {
  ExactSplitter splitter;
  std::vector<std::int64_t> parts;
  int planned_certified = 0;
  for (int i = 0; i < kCases; ++i) {
    const SplitCase made = next();
    const std::int64_t optimum = BruteSplit(made).best();
    const SplitResult planned = splitter.plan(made.problem(), parts);
    ASSERT_EQ(made.largest(parts), planned.load) << i;
    ASSERT_LE(planned.bound, optimum) << i;
    ASSERT_LE(optimum, planned.load) << i;
    ASSERT_LE(planned.load, made.on_primaries()) << i;
    planned_certified += planned.certified();
    const SplitResult proved = splitter.prove(made.problem(), parts, 5000);
    ASSERT_EQ(made.largest(parts), proved.load) << i;
    ASSERT_LE(proved.load, planned.load) << i;
    ASSERT_GE(proved.bound, planned.bound) << i;
    ASSERT_TRUE(proved.certified()) << i << ": " << proved.bound << " " << optimum << " " << proved.load;
    ASSERT_EQ(proved.load, optimum) << i;
  }
  EXPECT_GT(planned_certified, kCases / 4);
}

TEST_P(ExactRule, EveryBoundAloneHolds) {
  std::vector<std::int64_t> parts;
  exact::Loads loads;
  exact::Grid grid;
  exact::SplitBounds bounds;
  exact::Waste waste;
  ExactSplitter splitter;
  int tight = 0;
  for (int i = 0; i < kCases; ++i) {
    const SplitCase made = next();
    const std::int64_t optimum = BruteSplit(made).best();
    if (optimum == 0) continue;
    const std::int64_t ceiling = splitter.plan(made.problem(), parts).load;
    loads.reset(made.problem(), parts, true);
    grid.reset(loads);
    bounds.reset(loads, grid);
    ASSERT_EQ(grid.at_least(optimum), optimum) << i;
    ASSERT_EQ(grid.at_most(optimum), optimum) << i;
    ASSERT_LE(bounds.volume(ceiling), optimum) << i;
    ASSERT_LE(bounds.pinned(), optimum) << i;
    ASSERT_LE(bounds.prefixes(0, ceiling), optimum) << i;
    ASSERT_LE(bounds.forced(0, ceiling), optimum) << i;
    waste.reset(loads, ceiling);
    for (std::int64_t limit = optimum; limit <= ceiling; limit = grid.at_least(limit + 1))
      ASSERT_TRUE(waste.fits(bounds, limit)) << i << " at " << limit;
    tight += !waste.fits(bounds, grid.at_most(optimum - 1));
  }
  EXPECT_GT(tight, kCases / 2);
}

// A cluster refutes only what is out of reach, and re-solving keeps the split whole.
TEST_P(ExactRule, ClustersNeitherRefuteNorBreakASplit) {
  std::vector<std::int64_t> parts;
  exact::Loads loads;
  exact::Grid grid;
  exact::Clusters clusters;
  for (int i = 0; i < kCases; ++i) {
    const SplitCase made = next();
    const std::int64_t optimum = BruteSplit(made).best();
    if (optimum == 0) continue;
    parts.assign(made.table.replicas(), 0);
    for (std::size_t e = 0; e < made.tiles.size(); ++e) parts[made.table.first(static_cast<int>(e))] = made.tiles[e];
    loads.reset(made.problem(), parts, true);
    grid.reset(loads);
    clusters.reset(loads);
    while (clusters.resolve(loads, grid.at_most(loads.max_load() - 1), 1000)) {
      ASSERT_EQ(made.largest(parts), loads.max_load()) << i;
      ASSERT_GE(loads.max_load(), optimum) << i;
    }
    ASSERT_EQ(loads.max_load(), optimum) << i;
    ASSERT_EQ(clusters.prove(loads, grid.at_most(optimum - 1), 1000, true), exact::Answer::infeasible) << i;
    ASSERT_EQ(clusters.whole(loads, optimum, 1000), exact::Answer::feasible) << i;
    ASSERT_EQ(made.largest(parts), optimum) << i;
  }
}

// Four to six of seven workers. The re-solving is cut short on purpose, so that it often ends above the optimum.
TEST_P(ExactRule, ConfinedClustersRefuteOnlyWhatIsOutOfReach) {
  std::vector<std::int64_t> parts;
  exact::Loads loads;
  exact::Grid grid;
  exact::Clusters clusters;
  int above = 0, refuted = 0;
  for (int i = 0; i < 1500; ++i) {
    const SplitCase made = testing::small_case(random_, std::get<0>(GetParam()), std::get<1>(GetParam()), 7);
    const std::int64_t optimum = BruteSplit(made).best();
    if (optimum == 0) continue;
    parts.assign(made.table.replicas(), 0);
    for (std::size_t e = 0; e < made.tiles.size(); ++e) parts[made.table.first(static_cast<int>(e))] = made.tiles[e];
    loads.reset(made.problem(), parts, true);
    grid.reset(loads);
    clusters.reset(loads);
    while (clusters.resolve(loads, grid.at_most(loads.max_load() - 1), 3)) ASSERT_GE(loads.max_load(), optimum) << i;
    ASSERT_EQ(made.largest(parts), loads.max_load()) << i;
    const std::int64_t limit = grid.at_most(loads.max_load() - 1);
    const bool refutes = clusters.prove(loads, limit, 1000, false) == exact::Answer::infeasible;
    above += loads.max_load() > optimum;
    refuted += refutes;
    ASSERT_FALSE(refutes && loads.max_load() > optimum) << i;
  }
  EXPECT_GT(above, 10);
  EXPECT_GT(refuted, 300);
}

// More workers than one cluster holds; blocks of four or fewer that a cluster covers, and of seven that it cuts
// through.
TEST_P(ExactRule, ClustersProveManyWorkers) {
  ExactSplitter splitter;
  std::vector<std::int64_t> parts;
  int certified = 0;
  constexpr int kMany = 300;
  for (int i = 0; i < kMany; ++i) {
    std::int64_t best = 0;
    const SplitCase made = testing::many_small_cases(random_, std::get<0>(GetParam()), std::get<1>(GetParam()),
                                                     i % 2 == 0 ? 12 : 3, i % 2 == 0 ? 0 : 7, best);
    ASSERT_GT(made.workers, 16) << i;
    const SplitResult planned = splitter.plan(made.problem(), parts);
    ASSERT_EQ(made.largest(parts), planned.load) << i;
    ASSERT_LE(planned.bound, best) << i;
    ASSERT_GE(planned.load, best) << i;
    const SplitResult proved = splitter.prove(made.problem(), parts, 1000);
    ASSERT_EQ(made.largest(parts), proved.load) << i;
    ASSERT_LE(proved.bound, best) << i;
    ASSERT_GE(proved.load, best) << i;
    ASSERT_EQ(proved.certified(), !proved.budget_hit) << i;
    certified += proved.certified();
  }
  EXPECT_GT(certified, kMany * 9 / 10);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, ExactRule, ::testing::Combine(::testing::Values(LoadRule::additive, LoadRule::roofline), ::testing::Bool()),
    [](const auto& param) {
      return std::string(std::get<0>(param.param) == LoadRule::additive ? "additive" : "roofline") +
             (std::get<1>(param.param) ? "_slowdowns" : "");
    });

}  // namespace
}  // namespace afore::placement
