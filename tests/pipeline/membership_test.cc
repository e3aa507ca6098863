// What stands after a worker is lost.
#include "pipeline/membership.h"

#include <sstream>

#include "fixtures.h"
#include "pipeline/planner.h"

namespace afore::pipeline {
namespace {

// By index(): what every slot holds, as if all were whole.
std::vector<int> all_of(const LayerPlacement& p) {
  std::vector<int> complete(p.index_count());
  for (int w = 0; w < p.workers(); ++w)
    for (int slot = kStagingSlot; slot < p.slots_per_worker(); ++slot)
      complete[p.index(w, slot)] = p.expert_at(w, slot);
  return complete;
}

std::string text(const LayerRecovery& recovery) {
  std::ostringstream text;
  for (const int expert : recovery.placement.physical_to_logical()) text << expert << ' ';
  for (const Reload& r : recovery.reloads) text << "reload " << r.expert << " to " << r.worker << '.' << r.slot << ' ';
  return text.str();
}

TEST(Membership, ReplicasServeAndTheRestIsReloadedWhereFewestLive) {
  LayerPlacement p = LayerPlacement::initial(6, 3, 1);  // 0 1 | 2 3 | 4 5, one free slot each
  p.set(0, 2, 2);                                       // a replica of 2 on worker 0
  const LayerRecovery recovery = recover_layer(7, p, all_of(p), {true, false, true});
  EXPECT_EQ(text(recovery), "0 1 2 -1 -1 -1 4 5 3 reload 3 to 2.2 ");
  EXPECT_EQ(recovery.placement.primary(2), 0);
  EXPECT_EQ(recovery.placement.primary(3), 2);
  EXPECT_EQ(recovery.placement.primary(4), 2);
  EXPECT_EQ(recovery.reloads[0].layer, 7);
  EXPECT_FALSE(recovery.placement.rehomed());
}

TEST(Membership, AReloadMayTakeASpareReplicasSlotButNoPrimary) {
  LayerPlacement p = LayerPlacement::initial(4, 2, 2);  // 0 1 . . | 2 3 . .
  p.set(1, 2, 0);
  p.set(1, 3, 1);
  EXPECT_EQ(text(recover_layer(0, p, all_of(p), {false, true})), "-1 -1 -1 -1 2 3 0 1 ");
  p.set(0, 2, 2);
  p.set(0, 3, 3);
  p.set(1, 2, 2);  // two replicas of 2 on worker 1: one of them is spare
  p.set(1, 3, 1);
  EXPECT_EQ(text(recover_layer(0, p, all_of(p), {false, true})), "-1 -1 -1 -1 2 3 0 1 reload 0 to 1.2 ");
}

TEST(Membership, AnIncompleteReplicaIsNone) {
  LayerPlacement p = LayerPlacement::initial(2, 2, 1);
  p.set(1, 1, 0);
  std::vector<int> complete = all_of(p);
  complete[p.index(1, 1)] = kNoExpert;
  EXPECT_EQ(text(recover_layer(0, p, complete, {false, true})), "-1 -1 1 0 reload 0 to 1.1 ");
}

TEST(Membership, NamesTheExpertThatFindsNoSlot) {
  const LayerPlacement p = LayerPlacement::initial(4, 2, 1);
  EXPECT_EQ(error_of(
                [&] {
                  recover_layer(3, p, all_of(p), {false, true});
                },
                ErrorKind::io),
            "expert 1 of layer 3 is lost with its worker, and no other worker has a slot for it");
}

TEST(Membership, ThePlannerGoesOnWithoutTheLostWorker) {
  for (const char* policy : {"static", "afore", "eplb"}) {
    ModelSpec m = model(6);
    m.moe_layers = {1, 2};
    PlannerOptions options;
    options.policy = policy;
    options.limits.copy_budget = 8;
    options.limits.gain_rule = false;
    options.eplb.interval_steps = 1;
    options.eplb.step_bytes = 1 << 20;
    Planner planner(m, cluster(1, 3, 3, 64, 1), small_cost(), options);
    for (int step = 0; step < 4; ++step) planner.plan(demand({step, 1, 0}, {900, 10, 10, 10, 10, 10}));
    const Recovery recovery = planner.lose_workers({false, true, true}, {});
    ASSERT_EQ(recovery.size(), 2u);
    EXPECT_EQ(recovery.at(2).reloads.size(), 2u);  // untouched so far, and no replica of experts 0 and 1
    for (int step = 4; step < 12; ++step)
      for (const int layer : {1, 2}) {
        const Plan plan = planner.plan(demand({step, layer, 0}, {900, 10, 10, 400, 10, 10})).plan;
        EXPECT_EQ(plan.tile_load[0], 0) << policy;
        for (const Copy& copy : plan.copies) EXPECT_TRUE(copy.to != 0 && copy.from != 0) << policy;
      }
  }
}

TEST(Membership, TheYardstickAndUnknownLayersAreRefused) {
  PlannerOptions options;
  options.policy = "static";
  Planner nameless(model(2), cluster(1, 2, 1, 64, 1), small_cost(), options);
  EXPECT_NE(error_of([&] { nameless.lose_workers({true, false}, {}); }, ErrorKind::usage), "no error");
  ModelSpec m = model(2);
  m.moe_layers = {0};
  options.policy = "ideal";
  Planner ideal(m, cluster(1, 2, 1, 64, 1), small_cost(), options);
  EXPECT_NE(error_of([&] { ideal.lose_workers({true, false}, {}); }, ErrorKind::usage), "no error");
}

}  // namespace
}  // namespace afore::pipeline
