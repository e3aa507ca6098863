// The exact splitter against CBC on splits too large for brute force: both rules, with and without slowdowns.
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "../placement/instances.h"
#include "check.h"
#include "placement/exact/time_split.h"

namespace afore::test {
namespace {

using placement::ReplicaTable;
using placement::testing::Random;

constexpr int kUsual = 45;
constexpr std::int64_t kNodeBudget = 300;

struct SplitInstance {
  PlanSpace space;
  Weights weights;
  ReplicaTable table;
  std::vector<WorkerTraits> traits;

  placement::SplitProblem problem() const {
    return {table, space.tiles, weights.rule, weights.per_tile, weights.per_expert, traits};
  }
  // Largest load of the splitter's parts; -1 where they are no split.
  std::int64_t largest(const std::vector<std::int64_t>& parts) const {
    std::vector<std::int64_t> sum(space.tiles.size(), 0), there(space.workers, 0), active(space.workers, 0);
    for (int id = 0; id < table.replicas(); ++id) {
      if (parts[id] < 0) return -1;
      sum[table.expert(id)] += parts[id];
      there[table.worker(id)] += parts[id];
      active[table.worker(id)] += parts[id] > 0;
    }
    if (sum != space.tiles) return -1;
    std::int64_t most = 0;
    for (int w = 0; w < space.workers; ++w) most = std::max(most, weights.load(w, there[w], active[w]));
    return most;
  }
};

void add_replicas(SplitInstance& made, Random& random, int slots) {
  const int experts = static_cast<int>(made.space.tiles.size()), workers = made.space.workers;
  std::vector<int> homes(experts);
  std::vector<ReplicaTable::Extra> extras;
  std::vector<std::vector<bool>> held(workers, std::vector<bool>(experts, false));
  for (int e = 0; e < experts; ++e) {
    homes[e] = initial_primary(e, experts, workers);
    held[homes[e]][e] = true;
    made.space.places.push_back({PlanSpace::Place::Kind::standing, e, homes[e]});
  }
  for (int w = 0; w < workers; ++w)
    for (int slot = 0; slot < slots; ++slot) {
      // The larger of two: copies are of hot experts.
      const auto a = static_cast<int>(random.below(experts)), b = static_cast<int>(random.below(experts));
      const int e = made.space.tiles[a] < made.space.tiles[b] ? b : a;
      if (held[w][e]) continue;
      held[w][e] = true;
      extras.push_back({e, w});
      made.space.places.push_back({PlanSpace::Place::Kind::standing, e, w});
    }
  made.table.assign(homes, workers, extras);
}

SplitInstance make_split(int number, LoadRule rule, bool slowdowns) {
  static constexpr std::int64_t kCosts[][2] = {{1, 0}, {1, 1}, {1, 2}, {1, 4}, {10, 35}, {5370, 18570}, {3, 7}, {0, 1}};
  Random random(1'000'003ull * (rule == LoadRule::roofline) + 500'000ull * slowdowns + number);
  SplitInstance made;
  made.space.workers = static_cast<int>(2 + random.below(15));
  // A third with few experts, some of them far too hot for one worker: there activations are forced.
  const bool hot = random.below(3) == 0;
  const int experts = made.space.workers + static_cast<int>(random.below(hot ? 4 : 24));
  const double mean = 1 + 8 * random.uniform(), spread = (hot ? 1.2 : 0.3) + 1.2 * random.uniform();
  for (int e = 0; e < experts; ++e)
    made.space.tiles.push_back(std::min<std::int64_t>(200, std::llround(mean * std::exp(spread * random.normal()))));
  made.space.safe_slots.assign(made.space.workers, 0);
  const auto& cost = kCosts[random.below(std::size(kCosts))];
  made.weights = {rule, cost[0], cost[1], {}};
  add_replicas(made, random, static_cast<int>(1 + random.below(4)));
  for (int w = 0; slowdowns && w < made.space.workers; ++w) {
    const std::int64_t permille = random.below(2) == 0 ? 1000 : 700 + random.below(900);
    made.weights.slowdown_permille.push_back(permille);
    made.traits.push_back({permille, 1000, false});
  }
  return made;
}

class MilpSplit : public ::testing::TestWithParam<std::tuple<LoadRule, bool>> {};

TEST_P(MilpSplit, BoundOptimumAndLoadAreInOrder) {
  AFORE_NEEDS_CBC();
  const auto [rule, slowdowns] = GetParam();
  const Cbc cbc;
  placement::ExactSplitter splitter;
  std::vector<std::int64_t> parts;
  const std::string name = rule == LoadRule::additive ? "additive" : "roofline", slow = slowdowns ? ", slowdowns" : "";
  Tally planned_tally("plan, " + name + slow), proved_tally("prove, " + name + slow);
  const Range range = instances(kUsual);
  for (int i = range.first; i < range.end; ++i) {
    const SplitInstance made = make_split(i, rule, slowdowns);
    const placement::SplitResult planned = splitter.plan(made.problem(), parts);
    ASSERT_EQ(made.largest(parts), planned.load) << i;
    const placement::SplitResult proved = splitter.prove(made.problem(), parts, kNodeBudget);
    ASSERT_EQ(made.largest(parts), proved.load) << i;
    const Optimum optimum = least_load(cbc, made.space, made.weights, proved.load, effort());
    const Claim plan{planned.load, planned.bound}, proof{proved.load, proved.bound};
    EXPECT_EQ(refute(plan, optimum), "") << "plan(), instance " << i;
    EXPECT_EQ(refute(proof, optimum), "") << "prove(), instance " << i;
    planned_tally.add(plan, optimum);
    proved_tally.add(proof, optimum);
  }
  Tally::print_head();
  planned_tally.print();
  proved_tally.print();
}

INSTANTIATE_TEST_SUITE_P(
    Rules, MilpSplit, ::testing::Combine(::testing::Values(LoadRule::additive, LoadRule::roofline), ::testing::Bool()),
    [](const auto& param) {
      return std::string(std::get<0>(param.param) == LoadRule::additive ? "additive" : "roofline") +
             (std::get<1>(param.param) ? "_slowdowns" : "");
    });

}  // namespace
}  // namespace afore::test
