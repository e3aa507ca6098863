// Rules of other systems: published examples and properties, and what must hold of any plan of theirs.
#include "placement/rivals.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "instances.h"
#include "placement/registry.h"

namespace afore::placement {
namespace {

using testing::hall;
using testing::Instance;
using testing::Random;
using testing::random_instance;

using Holders = std::vector<std::vector<int>>;
using Counts = std::vector<std::int64_t>;

Instance simple(int experts, int workers, int slots, Counts counts) {
  Instance instance{LayerPlacement::initial(experts, workers, slots), std::move(counts), {}, {}, {}};
  instance.busy.assign(instance.placement.index_count(), 0);
  instance.last_used.assign(instance.placement.index_count(), -1);
  instance.cost.c1_ns = 1;
  instance.cost.tile_tokens = 1;
  return instance;
}

Holders holders_of(const LayerPlacement& placement) {
  Holders holders(placement.experts());
  for (int e = 0; e < placement.experts(); ++e)
    holders[e].assign(placement.holders(e).begin(), placement.holders(e).end());
  return holders;
}

void take_copies(Instance& instance, const Decision& decision) {
  for (const Copy& copy : decision.copies) instance.placement.set(copy.to, copy.slot, copy.expert);
}

// Targets of equal demand, until the rule has chosen and copied its fixed replicas.
void warm_up(Instance& instance, Policy& policy) {
  for (int target = 0; target < 12; ++target) take_copies(instance, policy.decide(instance.request()));
}

std::int64_t most_tokens(const Decision& decision, int workers) {
  Counts load(workers, 0);
  for (const TokenShare& share : decision.assignment_tokens) load[share.worker] += share.tokens;
  return *std::max_element(load.begin(), load.end());
}

std::int64_t most_activated(const Decision& decision, int workers) {
  Counts activated(workers, 0);
  for (const TokenShare& share : decision.assignment_tokens) activated[share.worker] += 1;
  return *std::max_element(activated.begin(), activated.end());
}

// Recounted from the request; that every token is given once is checked where decisions are put together.
void check_plan(const Instance& instance, const Decision& decision, std::int64_t budget) {
  EXPECT_LE(std::ssize(decision.copies), budget);
  LayerPlacement placement = instance.placement;
  std::vector<char> taken(placement.index_count(), 0);
  for (const Copy& copy : decision.copies) {
    const std::size_t index = placement.index(copy.to, copy.slot);
    EXPECT_FALSE(placement.is_primary_slot(copy.to, copy.slot));
    EXPECT_FALSE(instance.busy[index]);
    EXPECT_FALSE(taken[index]);
    EXPECT_FALSE(placement.holds(copy.expert, copy.to));
    EXPECT_EQ(copy.from, placement.primary(copy.expert));
    taken[index] = 1;
    placement.set(copy.to, copy.slot, copy.expert);
  }
  std::map<int, std::int64_t> tiles;
  for (const TileShare& share : decision.assignment) {
    EXPECT_TRUE(placement.holds(share.expert, share.worker));
    tiles[share.expert] += share.tiles;
  }
  for (int e = 0; e < placement.experts(); ++e)
    EXPECT_GE(tiles[e], ceil_div(instance.counts[e], instance.cost.tile_tokens));
  const WorkerLoads loads = worker_loads(decision.assignment, placement.workers(), instance.cost);
  EXPECT_GE(loads.max_tiles, decision.lower_bound_tiles);
  EXPECT_GE(loads.max_ns, decision.lower_bound_ns);
}

TEST(Rivals, PlansHoldOnRandomLayersAndTheSameLayersGiveTheSamePlans) {
  for (const char* name : {"quota", "metro", "lplb"})
    for (const Objective objective : {Objective::time, Objective::tiles})
      for (const Split split : {Split::own, Split::exact}) {
        SCOPED_TRACE(name);
        Random random(11);
        for (int trial = 0; trial < 40; ++trial) {
          const int workers = 1 + static_cast<int>(random.below(12)), experts = 1 + static_cast<int>(random.below(40));
          const int slots = static_cast<int>(random.below(4));
          const std::int64_t budget = random.below(2 * workers), tokens = 4 << random.below(12);
          Instance instance = random_instance(random, experts, workers, slots, tokens, 16, 5370, 18570);
          const Limits limits{objective, budget, true, split};
          const auto policy = find_policy(name)->make(limits), again = find_policy(name)->make(limits);
          for (int step = 0; step < 12; ++step) {
            const Decision decision = policy->decide(instance.request());
            check_plan(instance, decision, budget);
            EXPECT_EQ(decision.assignment, again->decide(instance.request()).assignment);
            take_copies(instance, decision);
            std::rotate(instance.counts.begin(), instance.counts.begin() + experts / 3, instance.counts.end());
          }
        }
      }
}

TEST(Rivals, NothingToDo) {
  const Instance instance = simple(4, 2, 1, {0, 0, 0, 0});
  for (const char* name : {"quota", "metro", "lplb"}) {
    const Decision decision = find_policy(name)->make(Limits{Objective::time, 2})->decide(instance.request());
    EXPECT_TRUE(decision.assignment.empty()) << name;
    EXPECT_TRUE(decision.copies.empty()) << name;
  }
}

// The skewed input of UltraEP's own test of its solver (tests/test_placement_quota.py): 4 workers, 4 experts and 2
// slots each. By hand: worker 0 has 1280 tokens, the others 128. Below T = 427 the third part, 1536 - 3T tokens, is
// more than the third expert has. At 427 the first expert gives 299; its other 213 are under the floor ceil(554 / 2).
// 427 over the mean, 416, is 1.026: within the 1.01-1.04 that the paper reports after balancing.
TEST(Quota, MeetsThePublishedTestInput) {
  Counts counts(16, 32);
  counts[0] = 512, counts[1] = 320, counts[2] = 256, counts[3] = 192;
  const Instance instance = simple(16, 4, 2, counts);
  const Decision decision = make_quota(Limits{Objective::tiles, 8})->decide(instance.request());
  check_plan(instance, decision, 8);
  EXPECT_EQ(most_tokens(decision, 4), 427);
  EXPECT_EQ(decision.copies, (std::vector<Copy>{{0, 0, 1, 4}, {1, 0, 2, 4}, {2, 0, 3, 4}}));
  EXPECT_EQ((std::vector<TokenShare>(decision.assignment_tokens.begin(), decision.assignment_tokens.begin() + 6)),
            (std::vector<TokenShare>{{0, 0, 213}, {0, 1, 299}, {1, 0, 21}, {1, 2, 299}, {2, 0, 1}, {2, 3, 255}}));
}

// Its edge cases: one expert with everything, and equal loads.
TEST(Quota, MeetsThePublishedEdgeCases) {
  Counts one(16, 0);
  one[0] = 1024;
  EXPECT_EQ(most_tokens(make_quota(Limits{Objective::tiles, 8})->decide(simple(16, 4, 2, one).request()), 4), 256);
  const Instance equal = simple(16, 4, 2, Counts(16, 64));
  EXPECT_TRUE(make_quota(Limits{Objective::tiles, 8})->decide(equal.request()).copies.empty());
  const Instance no_slots = simple(16, 4, 0, one);
  EXPECT_EQ(most_tokens(make_quota(Limits{Objective::tiles, 8})->decide(no_slots.request()), 4), 1024);
}

TEST(Quota, ReplicasThatStandServeWithoutACopy) {
  Counts counts(16, 32);
  counts[0] = 512, counts[1] = 320, counts[2] = 256, counts[3] = 192;
  Instance instance = simple(16, 4, 2, counts);
  const auto policy = make_quota(Limits{Objective::tiles, 8});
  take_copies(instance, policy->decide(instance.request()));
  const Decision second = policy->decide(instance.request());
  EXPECT_TRUE(second.copies.empty());
  EXPECT_EQ(most_tokens(second, 4), 427);
}

// Never worse than the primaries alone, whatever stands, and whatever of it may be overwritten.
TEST(Quota, NeverAbovePrimariesAlone) {
  Random random(12);
  int better = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const Instance instance = random_instance(random, 32, 8, 2, 4000, 1, 1, 0);
    Counts primaries(8, 0);
    for (int e = 0; e < 32; ++e) primaries[instance.placement.primary(e)] += instance.counts[e];
    const std::int64_t present = *std::max_element(primaries.begin(), primaries.end());
    const std::int64_t most =
        most_tokens(make_quota(Limits{Objective::tiles, random.below(9)})->decide(instance.request()), 8);
    EXPECT_LE(most, present);
    better += most < present;
  }
  EXPECT_GE(better, 100);
}

// The exact version of the paper: at a limit, every expert finds a worker, or an augmenting path to one with room.
class ExactRouting {
 public:
  ExactRouting(Holders holders, int workers) : holders_(std::move(holders)), of_(workers) {}
  int least() {
    for (int limit = static_cast<int>(ceil_div(std::ssize(holders_), std::ssize(of_)));; ++limit) {
      for (auto& experts : of_) experts.clear();
      bool all = true;
      for (std::size_t e = 0; e < holders_.size() && all; ++e) {
        seen_.assign(of_.size(), false);
        all = place(static_cast<int>(e), limit);
      }
      if (all) return limit;
    }
  }

 private:
  bool place(int expert, int limit) {
    for (const int w : holders_[expert]) {
      if (seen_[w]) continue;
      seen_[w] = true;
      if (std::ssize(of_[w]) < limit) {
        of_[w].push_back(expert);
        return true;
      }
      for (int& other : of_[w])
        if (place(other, limit)) {
          other = expert;
          return true;
        }
    }
    return false;
  }
  Holders holders_;
  std::vector<std::vector<int>> of_;
  std::vector<bool> seen_;
};

TEST(Metro, GreedyIsNearTheExactRouting) {
  Random random(13);
  std::int64_t greedy = 0, exact = 0, equal = 0;
  const int trials = 300;
  for (int trial = 0; trial < trials; ++trial) {
    const int workers = 4 + static_cast<int>(random.below(13));
    const Instance instance = random_instance(random, 128, workers, 2 + static_cast<int>(random.below(6)),
                                              64 << random.below(6), 16, 5370, 18570);
    const Decision decision = make_metro(Limits{Objective::time, 0})->decide(instance.request());
    Holders active;
    for (int e = 0; e < 128; ++e)
      if (instance.counts[e] > 0)
        active.emplace_back(instance.placement.holders(e).begin(), instance.placement.holders(e).end());
    EXPECT_EQ(decision.assignment_tokens.size(), active.size());  // each expert read once in all
    if (active.empty()) continue;
    const std::int64_t found = most_activated(decision, workers), least = ExactRouting(active, workers).least();
    EXPECT_GE(found, least);
    greedy += found;
    exact += least;
    equal += found == least;
  }
  RecordProperty("equal", static_cast<int>(equal));
  EXPECT_GE(equal, trials * 8 / 10) << greedy << " / " << exact;
  EXPECT_LE(static_cast<double>(greedy), 1.03 * static_cast<double>(exact));
}

// The paper's point, by hand: two workers hold experts 0 and 1 both. Balancing tokens by an even split activates two
// experts on each; METRO activates one on each, however unequal their tokens.
TEST(Metro, ActivatesOneExpertPerWorkerWhereEvenSplitsActivateTwo) {
  Instance instance = simple(2, 2, 1, {100, 20});
  instance.placement.set(0, 1, 1);
  instance.placement.set(1, 1, 0);
  const Decision decision = make_metro(Limits{Objective::time, 2})->decide(instance.request());
  EXPECT_EQ(decision.assignment_tokens, (std::vector<TokenShare>{{0, 0, 100}, {1, 1, 20}}));
  EXPECT_TRUE(decision.copies.empty());
}

TEST(Metro, FillsEmptySlotsOnceFromTheFirstTargetsWithinTheBudget) {
  Instance instance = simple(4, 4, 1, {40, 8, 4, 4});
  const auto policy = make_metro(Limits{Objective::time, 2});
  for (int target = 0; target < 8; ++target) EXPECT_TRUE(policy->decide(instance.request()).copies.empty());
  // EPLB's replication gives expert 0 three more replicas (40, 20, 13.3, then 10 each), and expert 1 the fourth slot.
  const Decision first = policy->decide(instance.request());
  EXPECT_EQ(first.copies.size(), 2u);
  EXPECT_EQ(first.assignment_tokens, (std::vector<TokenShare>{{0, 0, 40}, {1, 1, 8}, {2, 2, 4}, {3, 3, 4}}));
  // A question whose copies are not taken changes nothing.
  EXPECT_EQ(policy->decide(instance.request()).copies, first.copies);
  take_copies(instance, first);
  instance.counts = {0, 0, 0, 99};
  take_copies(instance, policy->decide(instance.request()));
  EXPECT_EQ(holders_of(instance.placement), (Holders{{0, 1, 2, 3}, {0, 1}, {2}, {3}}));
  EXPECT_TRUE(policy->decide(instance.request()).copies.empty());
}

// After a repair other replicas stand where chosen ones would go.
TEST(Metro, OverwritesNothing) {
  Instance instance = simple(4, 4, 1, {40, 8, 4, 4});
  const auto policy = make_metro(Limits{Objective::time, 4});
  warm_up(instance, *policy);
  for (int w = 0; w < 4; ++w) instance.placement.set(w, 1, (w + 3) % 4);
  EXPECT_TRUE(policy->decide(instance.request()).copies.empty());
}

// The graph of LPLB's README for 8 workers: the worker of the original, per worker and redundant expert.
TEST(Lplb, BuildsThePublishedGraph) {
  const int r2o[2][8] = {{3, 0, 1, 2, 7, 4, 5, 6}, {6, 7, 4, 5, 0, 1, 2, 3}};
  Instance instance = simple(16, 8, 2, Counts(16, 10));
  for (int w = 0; w < 8; ++w) instance.counts[2 * w + 1] = 20;  // the odd expert of each worker is its heaviest
  warm_up(instance, *make_lplb(Limits{Objective::time, 16}));
  for (int w = 0; w < 8; ++w)
    for (int k = 0; k < 2; ++k) EXPECT_EQ(instance.placement.expert_at(w, 2 + k), 2 * r2o[k][w] + (k == 0)) << w;
}

// The optimum of the program is known in closed form: over worker sets S, (load of S - tokens of the experts on edges
// that leave S) / |S|. Whole tokens reach it rounded up.
TEST(Lplb, ReachesTheCutBoundOfItsLinearProgram) {
  Random random(14);
  int below_static = 0;
  for (int trial = 0; trial < 60; ++trial) {
    Instance instance = random_instance(random, 32, 8, 0, 6000, 64, 5370, 18570);
    instance = simple(32, 8, 2, instance.counts);
    const auto policy = make_lplb(Limits{Objective::time, 16});
    warm_up(instance, *policy);
    std::rotate(instance.counts.begin(), instance.counts.begin() + 5, instance.counts.end());  // another batch
    const Decision decision = policy->decide(instance.request());
    EXPECT_TRUE(decision.copies.empty());
    std::int64_t bound = 0, present = 0;
    for (unsigned set = 1; set < 1u << 8; ++set) {
      std::int64_t load = 0;
      for (int e = 0; e < 32; ++e) {
        const std::span<const int> holders = instance.placement.holders(e);
        EXPECT_LE(holders.size(), 2u);
        const bool leaves = std::any_of(holders.begin(), holders.end(), [&](int w) { return (set >> w & 1u) == 0; });
        if ((set >> instance.placement.primary(e) & 1u) != 0 && !leaves) load += instance.counts[e];
      }
      bound = std::max(bound, ceil_div(load, __builtin_popcount(set)));
    }
    for (int w = 0; w < 8; ++w)
      present = std::max(present, std::accumulate(instance.counts.begin() + 4 * w, instance.counts.begin() + 4 * w + 4,
                                                  std::int64_t{0}));
    EXPECT_EQ(most_tokens(decision, 8), bound);
    EXPECT_EQ(bound, hall(instance.counts, 8, holders_of(instance.placement)));
    below_static += bound < present;
  }
  EXPECT_GE(below_static, 50);
}

TEST(Lplb, OtherSizesGetARingWithChords) {
  Instance instance = simple(12, 6, 2, {2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1});
  warm_up(instance, *make_lplb(Limits{Objective::time, 5}));  // the budget takes three targets
  for (int w = 0; w < 6; ++w) {
    EXPECT_EQ(instance.placement.expert_at(w, 2), 2 * ((w + 5) % 6));
    EXPECT_EQ(instance.placement.expert_at(w, 3), 2 * ((w + 3) % 6) + 1);
  }
}

// Of a worker's experts the busiest get the replicas, of equal ones those that come first.
TEST(Lplb, OfEqualExpertsTheFirstAreReplicated) {
  Instance instance = simple(8, 4, 1, {3, 3, 2, 2, 1, 5, 4, 4});
  const auto policy = make_lplb(Limits{Objective::tiles, 8});
  warm_up(instance, *policy);
  const Holders holders = holders_of(instance.placement);
  const auto replicas = [&](int expert) { return std::ssize(holders[expert]) - 1; };
  EXPECT_EQ(replicas(0), 1);
  EXPECT_EQ(replicas(1), 0);
  EXPECT_EQ(replicas(2), 1);
  EXPECT_EQ(replicas(3), 0);
  EXPECT_EQ(replicas(4), 0);
  EXPECT_EQ(replicas(5), 1);
  EXPECT_EQ(replicas(6), 1);
  EXPECT_EQ(replicas(7), 0);
}

}  // namespace
}  // namespace afore::placement
