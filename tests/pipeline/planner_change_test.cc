// Policies that follow one another while a model is served.
#include <gtest/gtest.h>

#include "pipeline/planner.h"
#include "pipeline/standing_plans.h"
#include "placement/registry.h"
#include "util/error.h"
#include "util/rng.h"

namespace afore::pipeline {
namespace {

constexpr int kExperts = 16, kLayers = 3, kMicrobatches = 3;

ModelSpec model() {
  ModelSpec m;
  m.experts = kExperts;
  m.top_k = 1;
  for (int layer = 0; layer < kLayers; ++layer) m.moe_layers.push_back(layer);
  return m;
}

ClusterSpec cluster() {
  ClusterSpec c;
  c.attention_workers = 1;
  c.ffn_workers = 4;
  c.redundant_slots = 2;
  c.tile_tokens = 8;
  c.microbatches = kMicrobatches;
  return c;
}

LayerCost cost() {
  LayerCost c;
  c.c0_ns = 500;
  c.c1_ns = 1000;
  c.c2_ns = 300;
  c.tile_tokens = 8;
  c.expert_bytes = 1000;
  return c;
}

PlannerOptions options_of(const std::string& policy) {
  PlannerOptions options;
  options.policy = policy;
  options.window_ns = 1'000'000;
  options.limits.copy_budget = 4;
  options.eplb.interval_steps = 3;
  options.window_steps = 3;
  options.eplb.step_bytes = 1500;  // slower than one rearrangement a step
  return options;
}

Demand skewed(const Target& target, Rng& rng) {
  Demand demand;
  demand.target = target;
  demand.counts.resize(kExperts);
  const std::uint64_t hot = rng.below(kExperts);
  for (int e = 0; e < kExperts; ++e)
    demand.counts[e] = static_cast<std::int64_t>(rng.below(20) + (static_cast<std::uint64_t>(e) == hot ? 150 : 0));
  for (const std::int64_t count : demand.counts) demand.tokens += count;
  return demand;
}

bool every_expert_is_held(const LayerPlacement& placement) {
  for (int e = 0; e < placement.experts(); ++e)
    if (placement.holders(e).empty()) return false;
  return true;
}

bool every_expert_is_whole(const LayerPlacement& placement) {
  const std::vector<int> slots = placement.physical_to_logical();
  for (int e = 0; e < placement.experts(); ++e)
    if (std::find(slots.begin(), slots.end(), e) == slots.end()) return false;
  return true;
}

// Planner::plan() itself checks that assignments cover the demand and use what stands.
TEST(PlannerChange, AnyPolicyFollowsAnyOtherAtAnyTarget) {
  std::vector<std::string> names;
  for (const placement::PolicyInfo& policy : placement::policies())
    if (std::string(policy.name) != "ideal") names.emplace_back(policy.name);
  int copies = 0, changes = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Rng rng(seed);
    Planner planner(model(), cluster(), cost(), options_of(names[rng.below(names.size())]));
    for (std::int64_t step = 0; step < 30; ++step)
      for (int layer = 0; layer < kLayers; ++layer)
        for (int m = 0; m < kMicrobatches; ++m) {
          if (rng.below(20) == 0) {
            const PlannerOptions next = options_of(names[rng.below(names.size())]);
            planner.change(rng.below(4) == 0 ? exact_split(next) : next);
            ++changes;
          }
          const PlannedTarget planned = planner.plan(skewed({step, layer, m}, rng));
          copies += static_cast<int>(planned.plan.copies.size());
          ASSERT_TRUE(every_expert_is_held(planner.placement(layer))) << "seed " << seed << " step " << step;
        }
  }
  EXPECT_GT(copies, 1000);
  EXPECT_GT(changes, 500);
}

// What EPLB has half done goes on until every expert is whole again, and nothing new is begun.
TEST(PlannerChange, ARearrangementUnderWayGoesOnUntilItsLayerIsWhole) {
  int found = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Rng rng(seed);
    Planner planner(model(), cluster(), cost(), options_of("eplb"));
    bool changed = false;
    int as_before = 0;
    for (std::int64_t step = 0; step < 60; ++step)
      for (int layer = 0; layer < kLayers; ++layer)
        for (int m = 0; m < kMicrobatches; ++m) {
          const bool whole = every_expert_is_whole(planner.placement(layer));
          if (!changed && !whole && step < 30) {
            planner.change(exact_split(options_of("afore")));
            changed = true;
          }
          const Plan plan = planner.plan(skewed({step, layer, m}, rng)).plan;
          if (!changed) continue;
          EXPECT_EQ(plan.policy, whole ? "afore" : "eplb");
          if (whole) {
            EXPECT_TRUE(plan.copies.empty());
          }
          as_before += whole ? 0 : 1;
        }
    if (!changed) continue;
    ++found;
    EXPECT_GT(as_before, 0);
    for (int layer = 0; layer < kLayers; ++layer) EXPECT_TRUE(every_expert_is_whole(planner.placement(layer)));
  }
  EXPECT_GT(found, 5);
}

TEST(PlannerChange, IdealHasOtherWeightsOnItsWorkers) {
  Planner planner(model(), cluster(), cost(), options_of("afore"));
  EXPECT_THROW(planner.change(options_of("ideal")), Error);
  EXPECT_THROW(planner.change(options_of("nosuch")), Error);
  Rng rng(1);
  EXPECT_EQ(planner.plan(skewed({0, 0, 0}, rng)).plan.policy, "afore");
}

}  // namespace
}  // namespace afore::pipeline
