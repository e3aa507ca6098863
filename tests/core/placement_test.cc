#include "core/placement.h"

#include <gtest/gtest.h>

namespace afore {
namespace {

TEST(LayerPlacement, InitialPutsPrimariesFirstAndLeavesRedundantSlotsEmpty) {
  const LayerPlacement p = LayerPlacement::initial(5, 2, 1);
  EXPECT_EQ(p.slots_per_worker(), 4);
  EXPECT_EQ(p.physical_to_logical(), (std::vector<int>{0, 1, 2, -1, 3, 4, -1, -1}));
  EXPECT_EQ(p.primary(2), 0);
  EXPECT_EQ(p.primary(3), 1);
}

TEST(LayerPlacement, MoreWorkersThanExpertsLeavesWorkersWithoutPrimary) {
  const LayerPlacement p = LayerPlacement::initial(2, 5, 1);
  EXPECT_EQ(p.slots_per_worker(), 2);
  EXPECT_EQ(p.primary(0), 0);
  EXPECT_EQ(p.primary(1), 2);
  EXPECT_EQ(p.physical_to_logical(), (std::vector<int>{0, -1, -1, -1, 1, -1, -1, -1, -1, -1}));
}

TEST(LayerPlacement, SetKeepsHoldersSortedAndUnique) {
  LayerPlacement p = LayerPlacement::initial(4, 2, 2);
  p.set(1, 2, 0);
  p.set(1, 3, 0);  // a duplicate on one worker is one holder
  EXPECT_EQ(std::vector<int>(p.holders(0).begin(), p.holders(0).end()), (std::vector<int>{0, 1}));
  p.set(1, 2, kNoExpert);
  EXPECT_TRUE(p.holds(0, 1));
  p.set(1, 3, 3);
  EXPECT_FALSE(p.holds(0, 1));
  EXPECT_EQ(p.primary(0), 0);
}

TEST(LayerPlacement, AfterRehomingTheLowestHolderIsPrimary) {
  LayerPlacement p = LayerPlacement::initial(4, 2, 1);
  p.set(0, kStagingSlot, 3);
  EXPECT_EQ(p.slot_of(3, 0), kStagingSlot);
  EXPECT_EQ(p.primary(3), 1);
  p.mark_rehomed();
  EXPECT_EQ(p.primary(3), 0);
}

TEST(StandIn, IsTheFirstHolderThatDoesNotDrain) {
  LayerPlacement placement = LayerPlacement::initial(4, 4, 2);
  placement.set(1, 1, 0);
  placement.set(3, 1, 0);
  const auto draining = [](std::vector<int> workers) {
    std::vector<WorkerTraits> traits(4);
    for (const int w : workers) traits[w].draining = true;
    return traits;
  };
  EXPECT_EQ(stand_in(placement, 0, {}), 0);
  EXPECT_EQ(stand_in(placement, 0, draining({2})), 0);
  EXPECT_EQ(stand_in(placement, 0, draining({0})), 1);
  EXPECT_EQ(stand_in(placement, 0, draining({0, 1})), 3);
  EXPECT_EQ(stand_in(placement, 0, draining({0, 1, 3})), 0);  // nobody else: the primary
  EXPECT_EQ(stand_in(placement, 2, draining({2})), 2);
}

}  // namespace
}  // namespace afore
