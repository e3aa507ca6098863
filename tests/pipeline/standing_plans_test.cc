#include "pipeline/standing_plans.h"

#include <gtest/gtest.h>

#include "util/error.h"

namespace afore::pipeline {
namespace {

ModelSpec model() {
  ModelSpec m;
  m.experts = 4;
  m.top_k = 1;
  return m;
}

ClusterSpec cluster() {
  ClusterSpec c;
  c.attention_workers = c.ffn_workers = 2;
  c.redundant_slots = 1;
  c.tile_tokens = 10;
  c.microbatches = 3;
  return c;
}

LayerCost cost() {
  LayerCost c;
  c.c1_ns = 100;
  c.tile_tokens = 10;
  return c;
}

Demand demand(std::int64_t step, std::vector<std::int64_t> counts) {
  Demand d;
  d.target = {step, 0, 0};
  for (const std::int64_t count : counts) d.tokens += count;
  d.counts = std::move(counts);
  return d;
}

std::vector<TokenShare> shares_of(const PublishedPlan& plan) {
  std::vector<TokenShare> shares;
  for (int w = 0; w < 2; ++w)
    for (const PublishedPlan::Share& s : plan.of(w)) shares.push_back({s.expert, w, s.tokens});
  return shares;
}

TEST(EvenPlans, WithoutReplicasEverythingIsOnThePrimaries) {
  const auto plans = even_plans(model(), cluster(), cost());
  const PlanPtr plan = plans->next(demand(0, {25, 0, 7, 8}), 0);
  EXPECT_EQ(plan->worker_tokens, (std::vector<std::int64_t>{25, 15}));
  EXPECT_EQ(plan->plan.ffn_ns, 300);  // three tiles of expert 0
}

// Expert 0 stands on both workers: 25 tokens are 13 and 12, and two tiles each.
TEST(EvenPlans, ReplicasShareEvenly) {
  const auto plans = even_plans(model(), cluster(), cost());
  plans->on_placement({0, 3, {0, 1, -1, 2, 3, 0}});
  const PlanPtr plan = plans->next(demand(0, {25, 0, 7, 8}), 0);
  EXPECT_EQ(shares_of(*plan), (std::vector<TokenShare>{{0, 0, 13}, {0, 1, 12}, {2, 1, 7}, {3, 1, 8}}));
  EXPECT_EQ(plan->plan.tile_load, (std::vector<std::int64_t>{2, 4}));
  EXPECT_TRUE(plan->plan.copies.empty());
}

// Two replicas on one worker get two shares: 8 of 12.
TEST(EvenPlans, AWorkerWithTwoReplicasCountsTwice) {
  const auto plans = even_plans(model(), cluster(), cost());
  plans->on_placement({0, 3, {0, 1, 0, 2, 3, 0}});
  EXPECT_EQ(shares_of(*plans->next(demand(0, {13, 0, 0, 0}), 0)), (std::vector<TokenShare>{{0, 0, 9}, {0, 1, 4}}));
}

// The policy copies expert 0 in step 0; from step 1 on the map stands, and the split is exact: 3 and 2 tiles.
TEST(HeldPlans, CopiesEndWhereTheHoldBegins) {
  PlannerOptions options;
  options.policy = "afore";
  options.window_ns = 1'000'000;
  options.limits.copy_budget = 2;
  std::vector<std::size_t> copies;
  const auto plans = held_plans(model(), cluster(), cost(), options, 1,
                                [&](const PlannedTarget& planned) { copies.push_back(planned.plan.copies.size()); });
  plans->next(demand(0, {50, 0, 0, 0}), 0);
  const PlanPtr held = plans->next(demand(1, {50, 0, 0, 0}), 1);
  EXPECT_EQ(held->tiles, (std::vector<std::int64_t>{3, 2}));
  plans->next(demand(2, {0, 90, 0, 0}), 2);  // expert 1 is on one worker, and stays there
  EXPECT_EQ(copies, (std::vector<std::size_t>{1, 0, 0}));
  EXPECT_EQ(held->plan.seq, 1);
}

TEST(StandingPlans, RefuseToLoseAWorker) {
  EXPECT_THROW(even_plans(model(), cluster(), cost())->lose_workers({true, false}, {}), Error);
}

}  // namespace
}  // namespace afore::pipeline
