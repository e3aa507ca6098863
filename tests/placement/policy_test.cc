#include "placement/policy.h"

#include <gtest/gtest.h>

#include <map>

#include "instances.h"

namespace afore::placement {
namespace {

using testing::BruteForce;
using testing::Instance;
using testing::Random;
using testing::random_instance;

Limits limits(Objective objective, std::int64_t copies, bool gain_rule = true) {
  return {objective, copies, gain_rule};
}

LayerPlacement after_copies(LayerPlacement placement, const std::vector<Copy>& copies) {
  for (const Copy& copy : copies) placement.set(copy.to, copy.slot, copy.expert);
  return placement;
}

std::int64_t value(const Instance& instance, const Decision& decision, Objective objective) {
  const WorkerLoads loads = worker_loads(decision.assignment, instance.placement.workers(), instance.cost);
  return objective == Objective::tiles ? loads.max_tiles : loads.max_ns;
}

std::int64_t bound(const Decision& decision, Objective objective) {
  return objective == Objective::tiles ? decision.lower_bound_tiles : decision.lower_bound_ns;
}

std::int64_t before(const Decision& decision, Objective objective) {
  return objective == Objective::tiles ? decision.max_tiles_before : decision.ffn_ns_before;
}

// What must hold of any plan, recounted from the request.
void check_plan(const Instance& instance, const Decision& decision, Objective objective, std::int64_t budget) {
  EXPECT_LE(std::ssize(decision.copies), budget);
  LayerPlacement placement = instance.placement;
  std::vector<std::uint8_t> taken(placement.index_count(), 0);
  for (const Copy& copy : decision.copies) {
    ASSERT_NE(copy.slot, kStagingSlot);
    const std::size_t index = placement.index(copy.to, copy.slot);
    EXPECT_FALSE(placement.is_primary_slot(copy.to, copy.slot));
    EXPECT_FALSE(instance.busy[index]);
    EXPECT_FALSE(taken[index]);
    taken[index] = 1;
    EXPECT_EQ(copy.from, placement.primary(copy.expert));
    EXPECT_FALSE(placement.holds(copy.expert, copy.to));
    placement.set(copy.to, copy.slot, copy.expert);
    EXPECT_TRUE(std::any_of(decision.assignment.begin(), decision.assignment.end(), [&](const TileShare& share) {
      return share.expert == copy.expert && share.worker == copy.to;
    })) << "a copy without work";
  }
  std::vector<std::int64_t> tiles, sum(instance.counts.size(), 0);
  count_tiles(instance.counts, instance.cost.tile_tokens, tiles);
  const TileShare* last = nullptr;
  for (const TileShare& share : decision.assignment) {
    EXPECT_GT(share.tiles, 0);
    EXPECT_TRUE(placement.holds(share.expert, share.worker));
    sum[share.expert] += share.tiles;
    if (last != nullptr) {
      EXPECT_LT(std::pair(last->expert, last->worker), std::pair(share.expert, share.worker));
    }
    last = &share;
  }
  EXPECT_EQ(sum, tiles);
  EXPECT_GE(value(instance, decision, objective), bound(decision, objective));
  EXPECT_LE(value(instance, decision, objective), before(decision, objective));
  EXPECT_EQ(decision.certified, value(instance, decision, objective) == bound(decision, objective));
}

Instance simple(int experts, int workers, int slots, std::vector<std::int64_t> counts) {
  Instance instance{LayerPlacement::initial(experts, workers, slots), std::move(counts), {}, {}, {}};
  instance.busy.assign(instance.placement.index_count(), 0);
  instance.last_used.assign(instance.placement.index_count(), -1);
  instance.cost.c1_ns = 1;
  instance.cost.tile_tokens = 1;
  return instance;
}

TEST(Afore, CopyNeededAndMade) {
  const Instance instance = simple(2, 2, 1, {7, 1});
  const Decision decision = make_paper(limits(Objective::tiles, 1))->decide(instance.request());
  check_plan(instance, decision, Objective::tiles, 1);
  EXPECT_EQ(decision.max_tiles_before, 7);
  EXPECT_EQ(decision.lower_bound_tiles, 4);
  ASSERT_EQ(decision.copies, (std::vector<Copy>{{0, 0, 1, 1}}));
  EXPECT_EQ(decision.assignment, (std::vector<TileShare>{{0, 0, 4}, {0, 1, 3}, {1, 1, 1}}));
  EXPECT_TRUE(decision.certified);
}

TEST(Afore, HallCutWithoutCopiesIsReported) {
  Instance instance = simple(2, 3, 1, {9, 1});
  instance.placement = LayerPlacement(2, 3, 2);
  instance.placement.set(0, 0, 0);
  instance.placement.set(1, 0, 0);
  instance.placement.set(2, 0, 1);
  instance.placement.mark_rehomed();
  const Decision decision = make_paper(limits(Objective::tiles, 0))->decide(instance.request());
  EXPECT_EQ(decision.lower_bound_tiles, 5);
  EXPECT_EQ(decision.cut, (std::vector<int>{0, 1}));
  EXPECT_TRUE(decision.certified);
}

TEST(Afore, WholeTilesAreSplitWithoutWaste) {
  Instance instance = simple(2, 2, 1, {130, 0});
  instance.cost.tile_tokens = 64;
  instance.placement.set(1, 1, 0);
  const Decision decision = make_paper(limits(Objective::tiles, 0))->decide(instance.request());
  std::int64_t total = 0;
  for (const TileShare& share : decision.assignment) total += share.tiles;
  EXPECT_EQ(total, 3);
  EXPECT_EQ(value(instance, decision, Objective::tiles), 2);
}

TEST(Afore, GainRuleWeighsExposedCopies) {
  Instance instance = simple(2, 2, 1, {7, 1});
  instance.cost.copy_ns = 5;
  for (const auto& [window, copies] : std::map<Nanos, std::size_t>{{1, 0}, {2, 0}, {3, 1}}) {
    instance.window_ns = window;
    const Decision decision = make_paper(limits(Objective::tiles, 1))->decide(instance.request());
    EXPECT_EQ(decision.copies.size(), copies) << "window " << window;
    EXPECT_EQ(make_paper(limits(Objective::tiles, 1, false))->decide(instance.request()).copies.size(), 1u);
  }
}

TEST(Afore, LooksPastAPrefixThatDoesNotPay) {
  // Two equally loaded workers: one copy alone lowers no maximum, two do.
  Instance instance = simple(4, 4, 1, {10, 10, 2, 2});
  instance.cost.copy_ns = 3;
  const Decision decision = make_paper(limits(Objective::tiles, 4))->decide(instance.request());
  EXPECT_EQ(decision.copies.size(), 2u);
  EXPECT_EQ(value(instance, decision, Objective::tiles), 6);
  EXPECT_TRUE(decision.certified);
}

TEST(Afore, NothingToDo) {
  Instance instance = simple(4, 2, 1, {0, 0, 0, 0});
  for (const Objective objective : {Objective::time, Objective::tiles})
    for (const auto& policy :
         {make_static(limits(objective, 4)), make_paper(limits(objective, 4)), make_ideal(limits(objective, 4))}) {
      const Decision decision = policy->decide(instance.request());
      EXPECT_TRUE(decision.assignment.empty());
      EXPECT_TRUE(decision.copies.empty());
      EXPECT_TRUE(decision.certified);
    }
}

class BothObjectives : public ::testing::TestWithParam<Objective> {};
INSTANTIATE_TEST_SUITE_P(Placement, BothObjectives, ::testing::Values(Objective::time, Objective::tiles),
                         [](const auto& parameter) { return std::string(to_string(parameter.param)); });

TEST_P(BothObjectives, BoundsHoldAndCertificatesAreTrueAgainstBruteForce) {
  const Objective objective = GetParam();
  Random random(objective == Objective::time ? 3 : 4);
  int certified = 0, optimal = 0, trials = 600;
  for (int trial = 0; trial < trials; ++trial) {
    const int workers = 2 + static_cast<int>(random.below(2)), experts = 2 + static_cast<int>(random.below(3));
    const std::int64_t copies = random.below(3);
    Instance instance =
        random_instance(random, experts, workers, 1, 8 + random.below(6), 1, 1 + random.below(3), random.below(8));
    instance.cost.c0_ns = 0;
    const Decision decision = make_paper(limits(objective, copies))->decide(instance.request());
    check_plan(instance, decision, objective, copies);
    std::vector<std::int64_t> tiles;
    count_tiles(instance.counts, 1, tiles);
    const LoadForm form =
        objective == Objective::tiles ? LoadForm{1, 0} : LoadForm{instance.cost.c1_ns, instance.cost.c2_ns};
    const std::int64_t optimum =
        BruteForce(tiles, workers, form).with_copies(instance.placement, instance.busy, copies);
    ASSERT_LE(bound(decision, objective), optimum) << "trial " << trial;
    ASSERT_GE(value(instance, decision, objective), optimum);
    // The other objective's bound is stated too and must hold as well.
    const Objective other = objective == Objective::tiles ? Objective::time : Objective::tiles;
    const LoadForm other_form =
        other == Objective::tiles ? LoadForm{1, 0} : LoadForm{instance.cost.c1_ns, instance.cost.c2_ns};
    ASSERT_LE(bound(decision, other),
              BruteForce(tiles, workers, other_form).with_copies(instance.placement, instance.busy, copies))
        << "trial " << trial;
    certified += decision.certified;
    optimal += value(instance, decision, objective) == optimum;
  }
  EXPECT_GE(optimal, trials * 90 / 100);
  EXPECT_GE(certified, trials / 3);
  ::testing::Test::RecordProperty("optimal", optimal);
}

TEST_P(BothObjectives, IdealIsNeverAboveAforeNorAforeAboveStatic) {
  const Objective objective = GetParam();
  Random random(objective == Objective::time ? 5 : 6);
  const std::vector<std::array<int, 4>> shapes = {{32, 8, 2, 4000},  {128, 16, 2, 32768}, {8, 2, 1, 500},
                                                  {16, 32, 1, 4000}, {64, 4, 0, 9000},    {384, 96, 2, 60000}};
  for (int trial = 0; trial < 240; ++trial) {
    const auto& [experts, workers, slots, tokens] = shapes[trial % shapes.size()];
    const bool gain_rule = random.below(4) != 0;
    Instance instance = random_instance(random, experts, workers, slots, tokens, 64, 5370, 18570);
    instance.window_ns = random.below(3) * 400'000;
    const auto afore = make_paper(limits(objective, workers, gain_rule))->decide(instance.request());
    const auto fixed = make_static(limits(objective, workers))->decide(instance.request());
    const auto ideal = make_ideal(limits(objective, workers, gain_rule))->decide(instance.request());
    check_plan(instance, afore, objective, workers);
    EXPECT_LE(value(instance, afore, objective), value(instance, fixed, objective));
    EXPECT_LE(before(afore, objective), value(instance, fixed, objective));
    EXPECT_LE(value(instance, ideal, objective), value(instance, afore, objective));
    EXPECT_GE(value(instance, ideal, objective), bound(ideal, objective));
    EXPECT_EQ(before(fixed, objective), value(instance, fixed, objective));
    EXPECT_TRUE(ideal.copies.empty());
    EXPECT_TRUE(fixed.copies.empty());
    std::vector<std::int64_t> tiles, sum(instance.counts.size(), 0);
    count_tiles(instance.counts, instance.cost.tile_tokens, tiles);
    for (const TileShare& share : ideal.assignment) sum[share.expert] += share.tiles;
    EXPECT_EQ(sum, tiles);
    // Tokens follow from tiles on the placement after the copies.
    token_shares(afore.assignment, instance.counts, instance.cost.tile_tokens,
                 after_copies(instance.placement, afore.copies));
    if (!afore.copies.empty() && gain_rule) {
      const Nanos exposed = std::max<Nanos>(0, migration_ns(afore.copies, workers, instance.cost) - instance.window_ns);
      const Nanos scale = objective == Objective::tiles ? instance.cost.c1_ns : 1;
      EXPECT_GT(scale * (before(afore, objective) - value(instance, afore, objective)), exposed);
    }
  }
}

TEST_P(BothObjectives, SameRequestSameDecisionWhateverCameBetween) {
  Random random(7);
  const auto policy = make_paper(limits(GetParam(), 8));
  const auto ideal = make_ideal(limits(GetParam(), 8));
  const Instance first = random_instance(random, 32, 8, 2, 4000, 64, 5370, 18570);
  const Decision a = policy->decide(first.request()), b = ideal->decide(first.request());
  for (const auto& [experts, workers] : std::vector<std::pair<int, int>>{{32, 8}, {256, 64}, {4, 2}}) {
    const Instance other = random_instance(random, experts, workers, 1, 9000, 64, 4000, 9000);
    policy->decide(other.request());
    ideal->decide(other.request());
  }
  const Decision again = policy->decide(first.request());
  EXPECT_EQ(a.copies, again.copies);
  EXPECT_EQ(a.assignment, again.assignment);
  EXPECT_EQ(a.lower_bound_ns, again.lower_bound_ns);
  EXPECT_EQ(a.cut, again.cut);
  EXPECT_EQ(make_paper(limits(GetParam(), 8))->decide(first.request()).assignment, a.assignment);
  EXPECT_EQ(ideal->decide(first.request()).assignment, b.assignment);
}

TEST_P(BothObjectives, CostFormsAtTheEdges) {
  Random random(9);
  for (const Nanos c1 : {0, 1, 5})
    for (const Nanos c2 : {0, 1, 900})
      for (int trial = 0; trial < 20; ++trial) {
        const Instance instance = random_instance(random, 12, 5, 2, 300, 4, c1, c2);
        const Decision decision = make_paper(limits(GetParam(), 5))->decide(instance.request());
        check_plan(instance, decision, GetParam(), 5);
        const Decision ideal = make_ideal(limits(GetParam(), 5))->decide(instance.request());
        EXPECT_LE(value(instance, ideal, GetParam()), value(instance, decision, GetParam()));
      }
}

TEST(Afore, TakesEmptySlotsThenTheLeastRecentlyUsed) {
  Instance instance = simple(4, 2, 2, {9, 9, 1, 1});
  // Worker 1: slots 2 and 3 hold idle replicas, slot 3 used longer ago.
  instance.placement = LayerPlacement::initial(4, 2, 2);
  instance.counts = {9, 9, 0, 0};
  instance.placement.set(1, 2, 0);
  instance.placement.set(1, 3, 1);
  instance.counts = {0, 0, 0, 9};
  instance.placement.set(0, 2, 2);
  instance.last_used[instance.placement.index(0, 2)] = 5;
  const Decision empty = make_paper(limits(Objective::tiles, 1))->decide(instance.request());
  ASSERT_EQ(empty.copies, (std::vector<Copy>{{3, 1, 0, 3}}));
  LayerPlacement full = instance.placement;
  full.set(0, 3, 2);
  instance.placement.set(0, 3, kNoExpert);
  instance.placement.set(0, 3, 2);
  instance.placement.set(0, 2, 2);
  instance.last_used[instance.placement.index(0, 3)] = 4;
  const Decision oldest = make_paper(limits(Objective::tiles, 1))->decide(instance.request());
  ASSERT_EQ(oldest.copies, (std::vector<Copy>{{3, 1, 0, 3}}));
  instance.busy[instance.placement.index(0, 3)] = 1;
  const Decision other = make_paper(limits(Objective::tiles, 1))->decide(instance.request());
  ASSERT_EQ(other.copies, (std::vector<Copy>{{3, 1, 0, 2}}));
  instance.busy[instance.placement.index(0, 2)] = 1;
  EXPECT_TRUE(make_paper(limits(Objective::tiles, 1))->decide(instance.request()).copies.empty());
}

}  // namespace
}  // namespace afore::placement
