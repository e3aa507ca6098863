#include <gtest/gtest.h>

#include "allocations.h"
#include "instances.h"
#include "placement/tiles/planner.h"

namespace afore::placement {
namespace {

// The same walk twice, copies applied and slots busy as they are in a run: the second one allocates nothing.
TEST(TilePlanner, AllocatesNothingOnceItHasSeenItsLayers) {
  for (const int workers : {2, 8, 32, 128}) {
    TilePlanner planner({Objective::tiles, workers, true, Split::exact}, 16);
    Decision decision;
    std::size_t during = 0, copies = 0;
    for (const bool warm : {false, true}) {
      testing::Random random(17);
      testing::Instance instance = testing::random_instance(random, 128, workers, 2, 32768, 64, 3732, 12911);
      during = 0;
      for (int target = 0; target < 60; ++target) {
        const Request request = instance.request();
        const std::size_t before = testing::allocations();
        planner.plan(request, decision);
        during += testing::allocations() - before;
        copies += decision.copies.size();
        for (const Copy& copy : decision.copies) instance.placement.set(copy.to, copy.slot, copy.expert);
        std::fill(instance.busy.begin(), instance.busy.end(), std::uint8_t{0});
        for (const TileShare& share : decision.assignment) {
          const int slot = instance.placement.slot_of(share.expert, share.worker);
          instance.busy[instance.placement.index(share.worker, slot)] = 1;
          instance.last_used[instance.placement.index(share.worker, slot)] = target;
        }
        for (auto& count : instance.counts) count = count * (50 + random.below(101)) / 100;
        if (target % 8 == 7)
          for (auto& count : instance.counts) count += random.below(500);
      }
      if (!warm) {
        EXPECT_GT(during, 0u);
      }
    }
    EXPECT_EQ(during, 0u) << workers << " workers";
    EXPECT_GT(copies, 3u);
  }
}

}  // namespace
}  // namespace afore::placement
