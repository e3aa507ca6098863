// The program that the planner is held against, itself: on layers worked by hand and against brute force, and that
// wrong claims do not pass.
#include <gtest/gtest.h>

#include "../placement/instances.h"
#include "check.h"
#include "core/assignment.h"

namespace afore::test {
namespace {

using placement::LoadForm;
using placement::testing::BruteForce;
using placement::testing::Instance;
using placement::testing::Random;

constexpr std::int64_t kFar = 1000;  // a ceiling that hides nothing
constexpr Effort kThorough{1'000'000, 600};

std::int64_t solved(const PlanSpace& space, const Weights& weights) {
  const Optimum optimum = least_load(Cbc(), space, weights, kFar, kThorough);
  EXPECT_TRUE(optimum.known()) << optimum.lower << " " << optimum.upper;
  return optimum.upper;
}

PlanSpace space_of(const LayerPlacement& placement, const std::vector<std::int64_t>& tiles, std::int64_t copies,
                   std::vector<std::uint8_t> busy = {}) {
  busy.resize(placement.index_count(), 0);
  return PlanSpace::of(placement, busy, tiles, copies);
}

TEST(MilpModel, OneCopyHalvesTheBusierWorker) {
  AFORE_NEEDS_CBC();
  const LayerPlacement placement = LayerPlacement::initial(2, 2, 1);
  EXPECT_EQ(solved(space_of(placement, {7, 1}, 0), {}), 7);
  EXPECT_EQ(solved(space_of(placement, {7, 1}, 1), {}), 4);
  // Under time the copy's weights are read as well: 5 + 3 on worker 0, (2 + 3) + (1 + 3) on worker 1.
  EXPECT_EQ(solved(space_of(placement, {7, 1}, 1), {LoadRule::additive, 1, 3, {}}), 9);
  EXPECT_EQ(solved(space_of(placement, {7, 1}, 0), {LoadRule::additive, 1, 3, {}}), 10);
  // Roofline: 5 tiles against one expert's 3 on worker 0, 3 tiles against two experts' 6 on worker 1.
  EXPECT_EQ(solved(space_of(placement, {7, 1}, 1), {LoadRule::roofline, 1, 3, {}}), 6);
  // Worker 1 takes half as long again: its 3 tiles are 4.5, rounded up.
  EXPECT_EQ(solved(space_of(placement, {7, 1}, 1), {LoadRule::additive, 1, 0, {1000, 1500}}), 5);
}

TEST(MilpModel, SlotsThatAreBusyOrInUseAreNotTaken) {
  AFORE_NEEDS_CBC();
  // Expert 0 stands everywhere; its replicas in the redundant slots of workers 1 and 2 may be overwritten.
  LayerPlacement placement = LayerPlacement::initial(3, 3, 1);
  placement.set(1, 1, 0);
  placement.set(2, 1, 0);
  std::vector<std::uint8_t> busy(placement.index_count(), 0);
  EXPECT_EQ(solved(space_of(placement, {6, 6, 0}, 1, busy), {}), 4);  // expert 1 into worker 0's empty slot
  EXPECT_EQ(solved(space_of(placement, {9, 0, 0}, 1, busy), {}), 3);
  busy[placement.index(0, 1)] = busy[placement.index(1, 1)] = busy[placement.index(2, 1)] = 1;
  EXPECT_EQ(solved(space_of(placement, {0, 6, 0}, 3, busy), {}), 6);
  busy[placement.index(2, 1)] = 0;
  EXPECT_EQ(solved(space_of(placement, {0, 6, 0}, 3, busy), {}), 3);
}

TEST(MilpModel, AgreesWithBruteForce) {
  AFORE_NEEDS_CBC();
  Random random(31);
  for (int i = 0; i < 40; ++i) {
    const int workers = 2 + static_cast<int>(random.below(2)), experts = 2 + static_cast<int>(random.below(3));
    const std::int64_t copies = random.below(3);
    const Instance instance = placement::testing::random_instance(random, experts, workers, 1, 8 + random.below(6), 1,
                                                                  1 + random.below(3), random.below(8));
    std::vector<std::int64_t> tiles;
    count_tiles(instance.counts, 1, tiles);
    for (const LoadForm& form : {LoadForm{1, 0}, LoadForm{instance.cost.c1_ns, instance.cost.c2_ns}})
      EXPECT_EQ(solved(space_of(instance.placement, tiles, copies, instance.busy),
                       {LoadRule::additive, form.per_tile, form.per_expert, {}}),
                BruteForce(tiles, workers, form).with_copies(instance.placement, instance.busy, copies))
          << i;
  }
}

TEST(MilpModel, WrongClaimsAreRefuted) {
  AFORE_NEEDS_CBC();
  const PlanSpace space = space_of(LayerPlacement::initial(2, 2, 1), {7, 1}, 1);  // 4 is the least
  const auto judge = [&](const Claim& claim) {
    return refute(claim, least_load(Cbc(), space, {}, claim.load, kThorough));
  };
  EXPECT_EQ(judge({4, 4}), "");
  EXPECT_EQ(judge({7, 3}), "");
  EXPECT_NE(judge({5, 5}), "");  // a wrong certificate
  EXPECT_NE(judge({7, 5}), "");  // a bound above the optimum
  EXPECT_NE(judge({3, 3}), "");  // a load that no plan reaches
}

}  // namespace
}  // namespace afore::test
