// Policies that make copies, against CBC over all copies within their limits: both objectives, prior replicas, busy
// slots. Each decision states bounds under both objectives, and both are held against their optimum.
#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "../placement/instances.h"
#include "check.h"
#include "core/assignment.h"
#include "placement/registry.h"
#include "placement/tiles/planner.h"

namespace afore::test {
namespace {

using placement::Decision;
using placement::testing::Instance;
using placement::testing::Random;

constexpr int kUsual = 45;
constexpr std::int64_t kSearchNodes = 200;

struct CopiesInstance {
  Instance instance;
  std::vector<WorkerTraits> traits;
  std::int64_t budget = 0;
  bool gain_rule = true;

  placement::Request request() const {
    placement::Request request = instance.request();
    request.workers = traits;
    return request;
  }
  Weights weights(Objective objective) const {
    if (objective == Objective::tiles) return {LoadRule::additive, 1, 0, {}};
    Weights weights{instance.cost.rule, instance.cost.c1_ns, instance.cost.c2_ns, {}};
    for (const WorkerTraits& one : traits) weights.slowdown_permille.push_back(one.slowdown_permille);
    return weights;
  }
};

enum class Kind { plain, slowdowns, roofline };

CopiesInstance make_copies(int number, Kind kind) {
  static constexpr Nanos kCosts[][2] = {{1, 0}, {1, 1}, {1, 2}, {1, 4}, {5370, 18570}, {3, 7}};
  Random random(7'000'000ull + 1'000'000ull * static_cast<std::uint64_t>(kind) + number);
  const auto workers = static_cast<int>(2 + random.below(15)), slots = static_cast<int>(1 + random.below(4));
  const int experts = workers + static_cast<int>(random.below(workers > 8 ? 9 : 17));
  const std::int64_t tokens = experts * (2 + random.below(9));
  const auto& cost = kCosts[random.below(std::size(kCosts))];
  CopiesInstance made{placement::testing::random_instance(random, experts, workers, slots, tokens, 1, cost[0], cost[1]),
                      {},
                      random.below(workers + 1),
                      random.below(3) == 0};
  if (random.below(3) == 0) made.instance.window_ns = random.below(3) * 100'000;
  if (kind == Kind::roofline) made.instance.cost.rule = LoadRule::roofline;
  for (int w = 0; kind == Kind::slowdowns && w < workers; ++w)
    made.traits.push_back({random.below(2) == 0 ? 1000 : 700 + random.below(900), 1000, false});
  return made;
}

// Largest load of the decision; -1 where it leaves the space.
std::int64_t largest(const CopiesInstance& made, const Decision& decision, const Weights& weights) {
  LayerPlacement after = made.instance.placement;
  std::vector<std::uint8_t> taken = made.instance.busy;
  if (std::ssize(decision.copies) > made.budget) return -1;
  for (const Copy& copy : decision.copies) {
    if (copy.slot < 0) return -1;
    const std::size_t index = after.index(copy.to, copy.slot);
    if (taken[index] || after.is_primary_slot(copy.to, copy.slot)) return -1;
    taken[index] = 1;
    after.set(copy.to, copy.slot, copy.expert);
  }
  std::vector<std::int64_t> tiles, sum(made.instance.counts.size(), 0);
  count_tiles(made.instance.counts, made.instance.cost.tile_tokens, tiles);
  std::vector<std::int64_t> there(after.workers(), 0), active(after.workers(), 0);
  for (const TileShare& share : decision.assignment) {
    if (share.tiles <= 0 || !after.holds(share.expert, share.worker)) return -1;
    sum[share.expert] += share.tiles;
    there[share.worker] += share.tiles;
    active[share.worker] += 1;
  }
  if (sum != tiles) return -1;
  std::int64_t most = 0;
  for (int w = 0; w < after.workers(); ++w) most = std::max(most, weights.load(w, there[w], active[w]));
  return most;
}

struct Made {
  std::string name;
  Objective objective;
  Decision decision;
  bool searched = false;  // its bound may be above the one that decision.certified is about
};

std::vector<Made> decide(const CopiesInstance& made, Kind kind) {
  std::vector<Made> decisions;
  for (const char* name : {"paper", "afore", "director", "annealing"})
    for (const Objective objective : {Objective::tiles, Objective::time}) {
      // The paper's phases know neither slow workers nor the roofline rule.
      if (kind != Kind::plain && std::string(name) == "paper") continue;
      placement::Limits limits;
      limits.objective = objective;
      limits.copy_budget = made.budget;
      limits.gain_rule = made.gain_rule;
      limits.node_budget = 300;
      decisions.push_back({name, objective, placement::find_policy(name)->make(limits)->decide(made.request())});
    }
  // What its complete search refuted is a bound of its own.
  placement::Limits limits;
  limits.copy_budget = made.budget;
  limits.gain_rule = made.gain_rule;
  placement::TilePlanner planner(limits, kSearchNodes);
  Made searched{"tile planner, nodes", Objective::tiles, {}, true};
  planner.plan(made.request(), searched.decision);
  searched.decision.lower_bound_tiles = planner.proven_tiles();
  decisions.push_back(std::move(searched));
  return decisions;
}

class MilpCopies : public ::testing::TestWithParam<Kind> {};

TEST_P(MilpCopies, NoPlanWithinTheLimitsIsBelowTheBounds) {
  AFORE_NEEDS_CBC();
  const Kind kind = GetParam();
  const Cbc cbc;
  std::map<std::string, Tally> tallies;
  const Range range = instances(kUsual);
  for (int i = range.first; i < range.end; ++i) {
    const CopiesInstance made = make_copies(i, kind);
    const std::vector<Made> decisions = decide(made, kind);
    std::vector<std::int64_t> tiles;
    count_tiles(made.instance.counts, made.instance.cost.tile_tokens, tiles);
    const PlanSpace space = PlanSpace::of(made.instance.placement, made.instance.busy, tiles, made.budget);
    for (const Objective objective : {Objective::tiles, Objective::time}) {
      const Weights weights = made.weights(objective);
      std::vector<Claim> claims;
      std::int64_t ceiling = std::numeric_limits<std::int64_t>::max();
      for (const Made& one : decisions) {
        const std::int64_t load = largest(made, one.decision, weights);
        ASSERT_GE(load, 0) << "instance " << i << " leaves its limits: " << one.name;
        claims.push_back({load, objective == Objective::tiles
                                    ? one.decision.lower_bound_tiles
                                    : one.decision.lower_bound_ns - made.instance.cost.c0_ns});
        ceiling = std::min(ceiling, load);
      }
      const Optimum optimum = least_load(cbc, space, weights, ceiling, effort());
      for (std::size_t at = 0; at < claims.size(); ++at) {
        const Made& one = decisions[at];
        const std::string name =
            fmt::format("{}, objective {}, {}", one.name, to_string(one.objective), to_string(objective));
        EXPECT_EQ(refute(claims[at], optimum), "") << name << ", instance " << i;
        if (objective == Objective::time && one.decision.relaxation_bound_ns != kAbsent) {
          const Claim relaxed{claims[at].load, one.decision.relaxation_bound_ns - made.instance.cost.c0_ns};
          EXPECT_EQ(refute(relaxed, optimum), "") << name << ", relaxed, instance " << i;
        }
        if (one.objective == objective && (one.decision.certified || !one.searched)) {
          EXPECT_EQ(one.decision.certified, claims[at].certified()) << name << ", instance " << i;
        }
        tallies.try_emplace(name, name).first->second.add(claims[at], optimum);
      }
    }
  }
  Tally::print_head();
  for (const auto& [name, tally] : tallies) tally.print();
}

INSTANTIATE_TEST_SUITE_P(Kinds, MilpCopies, ::testing::Values(Kind::plain, Kind::slowdowns, Kind::roofline),
                         [](const auto& param) {
                           return param.param == Kind::plain       ? "plain"
                                  : param.param == Kind::slowdowns ? "slowdowns"
                                                                   : "roofline";
                         });

}  // namespace
}  // namespace afore::test
