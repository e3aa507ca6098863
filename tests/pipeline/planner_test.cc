// What the planner keeps between targets: windows, busy slots, use stamps, maps and guesses.
#include "pipeline/planner.h"

#include "fixtures.h"
#include "placement/registry.h"

namespace afore::pipeline {
namespace {

const ModelSpec kModel = model(2);

PlannerOptions options(const std::string& policy) {
  PlannerOptions o;
  o.policy = policy;
  o.limits.copy_budget = 2;
  o.window_ns = 1'000'000;
  return o;
}

const LayerState& state(const Planner& planner, int layer) { return *planner.layers().at(layer); }

std::vector<int> busy_slots(const LayerState& layer) {
  std::vector<int> slots;
  for (std::size_t i = 0; i < layer.busy().size(); ++i)
    if (layer.busy()[i]) slots.push_back(static_cast<int>(i));
  return slots;
}

TEST(Planner, TheFirstPlanOfALayerComesWithItsMap) {
  Planner planner(kModel, cluster(1, 2, 1, 64, 1), small_cost(), options("static"));
  const PlannedTarget first = planner.plan(demand({0, 3, 0}, {64, 1}));
  ASSERT_TRUE(first.before);
  EXPECT_EQ(first.before->layer, 3);
  EXPECT_EQ(first.before->slots_per_worker, 2);
  EXPECT_EQ(first.before->physical_to_logical, (std::vector<int>{0, -1, 1, -1}));
  EXPECT_FALSE(planner.plan(demand({1, 3, 0}, {64, 1})).before);
  EXPECT_TRUE(planner.plan(demand({1, 5, 0}, {64, 1})).before);
}

TEST(Planner, TheMapBeforeThePlanIsWithoutItsCopies) {
  Planner planner(kModel, cluster(1, 2, 1, 64, 1), small_cost(), options("afore"));
  const PlannedTarget first = planner.plan(demand({0, 3, 0}, {640, 1}));
  ASSERT_EQ(first.plan.copies, (std::vector<Copy>{{0, 0, 1, 1}}));
  EXPECT_EQ(first.before->physical_to_logical, (std::vector<int>{0, -1, 1, -1}));
  EXPECT_EQ(planner.placement(3).expert_at(1, 1), 0);
}

TEST(Planner, AMapFromTheStreamIsNotAnnouncedAgainAndOnlyTheFirstCounts) {
  Planner planner(kModel, cluster(1, 2, 1, 64, 1), small_cost(), options("static"));
  planner.set_placement({3, 2, {0, 1, 1, -1}});
  planner.set_placement({3, 2, {0, -1, 1, -1}});
  EXPECT_FALSE(planner.plan(demand({0, 3, 0}, {64, 64})).before);
  EXPECT_EQ(planner.placement(3).expert_at(0, 1), 1);
}

TEST(Planner, SlotsAreBusyForTheLastMicrobatchesLessOneTargets) {
  Planner planner(kModel, cluster(1, 2, 1, 64, 3), small_cost(), options("static"));
  planner.plan(demand({0, 3, 0}, {64, 0}));
  EXPECT_EQ(busy_slots(state(planner, 3)), std::vector<int>{0});  // per worker two slots and staging
  planner.plan(demand({0, 3, 1}, {0, 64}));
  EXPECT_EQ(busy_slots(state(planner, 3)), (std::vector<int>{0, 3}));
  planner.plan(demand({0, 5, 0}, {64, 64}));  // another layer does not age them
  planner.plan(demand({0, 3, 2}, {0, 64}));
  EXPECT_EQ(busy_slots(state(planner, 3)), std::vector<int>{3});
  planner.plan(demand({1, 3, 0}, {0, 0}));
  EXPECT_EQ(busy_slots(state(planner, 3)), std::vector<int>{3});
  planner.plan(demand({1, 3, 1}, {0, 0}));
  EXPECT_TRUE(busy_slots(state(planner, 3)).empty());
}

TEST(Planner, WithOneMicrobatchNothingIsBusy) {
  Planner planner(kModel, cluster(1, 2, 1, 64, 1), small_cost(), options("static"));
  planner.plan(demand({0, 3, 0}, {64, 64}));
  EXPECT_TRUE(busy_slots(state(planner, 3)).empty());
}

TEST(Planner, StampsSayWhichTargetLastUsedASlot) {
  Planner planner(model(3), cluster(1, 3, 2, 64, 1), small_cost(), options("afore"));
  planner.set_placement({3, 3, {0, 1, -1, 1, 0, 2, 2, -1, -1}});
  planner.plan(demand({0, 3, 0}, {0, 0, 640}));
  planner.plan(demand({1, 3, 0}, {640, 1, 0}));
  const LayerState& layer = state(planner, 3);
  EXPECT_EQ(layer.last_used[layer.placement.index(2, 0)], 0);
  EXPECT_EQ(layer.last_used[layer.placement.index(0, 0)], 1);
  EXPECT_EQ(layer.last_used[layer.placement.index(1, 1)], 1);
  EXPECT_EQ(layer.last_used[layer.placement.index(0, 1)], -1);
}

// Two redundant slots on each worker, more hot experts than slots: what goes is the replica idle for longest.
TEST(Planner, TheLeastRecentlyUsedReplicaGoes) {
  Planner planner(model(8), cluster(1, 2, 2, 64, 1), small_cost(), options("afore"));
  int evictions = 0;
  for (int step = 0; step < 60; ++step) {
    std::vector<std::int64_t> counts(8, 0);
    counts[(step * 3) % 4] = 640;  // all on worker 0
    LayerPlacement before = planner.placement(3);
    std::vector<std::int64_t> stamps = state(planner, 3).last_used;
    const Plan plan = planner.plan(demand({step, 3, 0}, counts)).plan;
    for (const Copy& copy : plan.copies) {
      const std::size_t at = before.index(copy.to, copy.slot);
      for (int slot = 4; slot < 6; ++slot) {
        if (before.expert_at(copy.to, copy.slot) == kNoExpert) continue;
        EXPECT_NE(before.expert_at(copy.to, slot), kNoExpert) << "an empty slot goes first";
        EXPECT_GE(stamps[before.index(copy.to, slot)], stamps[at]) << "step " << step;
      }
      EXPECT_GE(copy.slot, 4) << "primaries stay";
      evictions += before.expert_at(copy.to, copy.slot) != kNoExpert ? 1 : 0;
    }
  }
  EXPECT_GT(evictions, 10);
}

TEST(Planner, WhereTheWindowComesFrom) {
  PlannerOptions o = options("static");
  const ClusterSpec c = cluster(1, 2, 1, 64, 3);
  {
    Planner planner(kModel, c, small_cost(), o);
    const Plan plan = planner.plan(demand({0, 3, 0}, {64, 1})).plan;
    EXPECT_EQ(plan.window_source, "flag");
    EXPECT_EQ(plan.window_ns, 1'000'000);
  }
  o.window_ns.reset();
  {
    Planner planner(kModel, c, small_cost(), o);
    Plan plan = planner.plan(demand({0, 3, 0}, {640, 1})).plan;
    EXPECT_EQ(plan.window_source, "preceding_ffn");
    EXPECT_EQ(plan.window_ns, 0);
    EXPECT_EQ(plan.ffn_ns, 10 + 1000 + 5);
    plan = planner.plan(demand({0, 5, 0}, {64, 1})).plan;  // the preceding target in the stream, any layer
    EXPECT_EQ(plan.window_ns, 1015);
  }
  for (const int microbatches : {1, 2}) {  // nothing precedes that could hide a copy
    Planner planner(kModel, cluster(1, 2, 1, 64, microbatches), small_cost(), o);
    planner.plan(demand({0, 3, 0}, {640, 1}));
    const Plan plan = planner.plan(demand({0, 5, 0}, {64, 1})).plan;
    EXPECT_EQ(plan.window_source, "few_microbatches");
    EXPECT_EQ(plan.window_ns, 0);
  }
  o.overlap = false;
  {
    Planner planner(kModel, c, small_cost(), o);
    planner.plan(demand({0, 3, 0}, {640, 1}));
    const Plan plan = planner.plan(demand({0, 5, 0}, {64, 1})).plan;
    EXPECT_EQ(plan.window_source, "no_overlap");
    EXPECT_EQ(plan.window_ns, 0);
  }
}

TEST(Planner, CopiesWaitForAWindowThatMakesThemWorthIt) {
  PlannerOptions o = options("afore");
  o.window_ns = 0;
  const LayerCost dear = [] {
    LayerCost cost = small_cost();
    cost.copy_ns = 501;
    return cost;
  }();
  // Ten tiles of one expert: a copy saves 5 tiles less an activation, 500 - 5.
  Planner strict(kModel, cluster(1, 2, 1, 64, 1), dear, o);
  EXPECT_TRUE(strict.plan(demand({0, 3, 0}, {640, 0})).plan.copies.empty());
  o.limits.gain_rule = false;
  Planner forced(kModel, cluster(1, 2, 1, 64, 1), dear, o);
  const Plan plan = forced.plan(demand({0, 3, 0}, {640, 0})).plan;
  EXPECT_EQ(plan.copies.size(), 1u);
  EXPECT_EQ(plan.exposed_ns, 501);
  EXPECT_EQ(plan.gain_ns, 1015 - 515 - 501);
}

TEST(Planner, AGuessIsAppliedToTheTruth) {
  PlannerOptions o = options("afore");
  o.source = DemandSource::last_step;
  Planner planner(kModel, cluster(1, 2, 1, 64, 2), small_cost(), o);
  // Nothing seen: everything stays on the primaries, and what could be reached is said of the truth.
  Plan plan = planner.plan(demand({0, 3, 0}, {640, 0})).plan;
  EXPECT_TRUE(plan.copies.empty());
  EXPECT_EQ(plan.assignment, (std::vector<TileShare>{{0, 0, 10}}));
  EXPECT_EQ(plan.demand_source, "last_step");
  EXPECT_EQ(plan.predicted_max_tile_load, 0);
  EXPECT_EQ(plan.predicted_ffn_ns, 10);
  EXPECT_EQ(plan.max_tile_load_before, 10);
  EXPECT_FALSE(plan.certified);
  // Seen: halves of ten tiles, projected on eight; the unseen expert on its primary.
  plan = planner.plan(demand({1, 3, 0}, {512, 64})).plan;
  EXPECT_EQ(plan.copies, (std::vector<Copy>{{0, 0, 1, 1}}));
  EXPECT_EQ(plan.assignment, (std::vector<TileShare>{{0, 0, 4}, {0, 1, 4}, {1, 1, 1}}));
  EXPECT_EQ(plan.predicted_max_tile_load, 5);
  EXPECT_EQ(plan.max_tile_load, 5);
  // Another microbatch of the layer has a past of its own.
  plan = planner.plan(demand({1, 3, 1}, {512, 64})).plan;
  EXPECT_EQ(plan.predicted_max_tile_load, 0);
}

TEST(Planner, PlansFromTheTruthPredictNothing) {
  Planner planner(kModel, cluster(1, 2, 1, 64, 1), small_cost(), options("afore"));
  const Plan plan = planner.plan(demand({0, 3, 0}, {640, 0})).plan;
  EXPECT_FALSE(plan.predicted_ffn_ns);
  EXPECT_FALSE(plan.predicted_max_tile_load);
}

TEST(Planner, SaysWhichSizeIsMissing) {
  const PlannerOptions o = options("static");
  auto message = [&](const ClusterSpec& c) {
    return error_of([&] { Planner(kModel, c, small_cost(), o); }, ErrorKind::usage);
  };
  EXPECT_EQ(message(cluster(1, -1, 1, 64, 1)), "the number of FFN workers is not known");
  EXPECT_EQ(message(cluster(1, 2, -1, 64, 1)), "the number of redundant slots is not known");
  EXPECT_EQ(message(cluster(1, 2, 1, -1, 1)), "the tile size is not known");
  EXPECT_EQ(message(cluster(1, 2, 1, 64, -1)), "the number of microbatches is not known");
}

TEST(Planner, RefusesMoreMicrobatchesThanItKeepsSlotsFor) {
  Planner planner(kModel, cluster(1, 2, 1, 64, 2), small_cost(), options("afore"));
  planner.plan(demand({0, 3, 1}, {64, 1}));
  EXPECT_EQ(error_of(
                [&] {
                  planner.plan(demand({0, 3, 2}, {64, 1}));
                },
                ErrorKind::data),
            "step 0 layer 3 is of microbatch 2, but there are only 2, counted from 0");
}

TEST(Planner, TheYardstickAndEplbChooseTheirOwnSource) {
  EXPECT_EQ(effective_source("ideal", DemandSource::last_step), DemandSource::prefetch);
  EXPECT_EQ(effective_source("eplb", DemandSource::prefetch), DemandSource::window);
  EXPECT_EQ(effective_source("afore", DemandSource::window), DemandSource::window);
}

TEST(Planner, TimesAreThoseOfTheWorkers) {
  ClusterSpec differing = cluster(1, 2, 1, 64, 1);
  differing.workers = {{}, {2000, 3000, false}};
  Planner planner(kModel, differing, small_cost(), options("static"));
  const Plan plan = planner.plan(demand({0, 3, 0}, {64, 192})).plan;
  EXPECT_EQ(plan.ffn_ns, 620);        // 10 + 2 * (3 * 100 + 5)
  EXPECT_EQ(plan.ffn_bound_ns, 284);  // 410 of work: 274 on worker 0 and 137 on worker 1
  Planner copying(kModel, differing, small_cost(), options("split"));
  Plan last;
  for (int step = 0; step < 9; ++step) last = copying.plan(demand({step, 3, 0}, {640, 192})).plan;
  ASSERT_EQ(last.copies.size(), 2u);
  EXPECT_EQ(last.migration_ns, 750);  // both between the same two workers, each port used once
}

TEST(Planner, APinnedExpertThatIsNotThereIsRefused) {
  PlannerOptions pinned = options("afore");
  pinned.pinned = {1, 2};
  Planner planner(kModel, cluster(1, 2, 1, 64, 1), small_cost(), pinned);
  try {
    planner.plan(demand({0, 3, 0}, {64, 1}));
    ADD_FAILURE() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_STREQ(error.what(), "there is no expert 2 to pin, of 2 counted from 0");
  }
}

// A guess's shares, applied to the truth, keep off draining workers too: bounds take it for granted.
TEST(Planner, PlansFromGuessesKeepToTheirBoundsWhereWorkersDiffer) {
  for (const placement::PolicyInfo& policy : placement::policies())
    for (const DemandSource source : {DemandSource::last_step, DemandSource::window}) {
      PlannerOptions guessing = options(policy.name);
      guessing.source = source;
      guessing.pinned = {3};
      ClusterSpec differing = cluster(1, 4, 2, 16, 2);
      differing.workers = {{}, {1000, 1000, true}, {2500, 1000, false}, {700, 2000, false}};
      LayerCost cost = small_cost(16);
      cost.rule = LoadRule::roofline;
      cost.c2_ns = 300;
      Planner planner(model(8), differing, cost, guessing);
      std::uint64_t random = 7;
      for (int step = 0; step < 60; ++step)
        for (int mb = 0; mb < 2; ++mb) {
          std::vector<std::int64_t> counts(8);
          for (std::int64_t& count : counts) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            count = (random >> 60) < 6 ? 0 : static_cast<std::int64_t>((random >> 40) % 200);
          }
          const Plan plan = planner.plan(demand({step, 3, mb}, counts)).plan;
          EXPECT_LE(plan.ffn_bound_ns, plan.ffn_ns) << policy.name;
        }
    }
}

}  // namespace
}  // namespace afore::pipeline
