// Copies made ahead, by predictions: which are made, when, into which slots, and what other plans may count on.
#include <set>

#include "fixtures.h"
#include "pipeline/planner.h"

namespace afore::pipeline {
namespace {

// Two layers, 3 and 5; four experts on two workers, 0 and 1 on the first; a slot to spare on each.
ModelSpec two_layers() {
  ModelSpec m = model(4);
  m.moe_layers = {3, 5};
  return m;
}

PlannerOptions by_prediction(Nanos window_ns = 0) {
  PlannerOptions o;
  o.policy = "paper";
  o.source = DemandSource::prediction;
  o.limits.copy_budget = 2;
  o.window_ns = window_ns;
  return o;
}

const std::vector<std::int64_t> kEven{64, 64, 64, 64}, kHot{640, 64, 64, 64};

Prediction prediction(const Target& target, std::vector<std::int64_t> counts, int after_layer = 3) {
  return {target, "test", after_layer, std::move(counts), {}};
}

class Ahead : public testing::Test {
 protected:
  void start(Planner& planner) {  // both layers have had a target
    planner.plan(demand({0, 3, 0}, kEven));
    planner.plan(demand({0, 5, 0}, kEven));
  }
};

TEST_F(Ahead, APredictedHotExpertIsCopiedWithThePlanOfTheLayerBefore) {
  Planner planner(two_layers(), cluster(1, 2, 1, 64, 1), small_cost(), by_prediction(2000));
  start(planner);
  planner.on_prediction(prediction({1, 5, 0}, kHot));
  const Plan first = planner.plan(demand({1, 3, 0}, kEven)).plan;
  EXPECT_TRUE(first.copies.empty());
  ASSERT_EQ(first.ahead, (std::vector<AheadCopy>{{5, {0, 0, 1, 2}}}));
  EXPECT_EQ(planner.predictions_used(), 1);
  EXPECT_EQ(planner.placement(5).expert_at(1, 2), 0);
  EXPECT_FALSE(planner.placement(3).holds(0, 1));

  const Plan second = planner.plan(demand({1, 5, 0}, kHot)).plan;
  EXPECT_TRUE(second.copies.empty() && second.ahead.empty() && second.unready.empty());
  EXPECT_EQ(second.demand_source, "prediction");
  EXPECT_EQ(second.ffn_ns, 10 + 7 * 100 + 2 * 5);  // of 13 tiles
  EXPECT_EQ(second.ffn_ns_before, second.ffn_ns);
}

// 440 ns were to pass until the target, and 220 have when it comes; the copy takes 250.
TEST_F(Ahead, AReplicaThatIsNotThereYetIsNotUsed) {
  Planner planner(two_layers(), cluster(1, 2, 1, 64, 2), small_cost(), by_prediction(0));
  start(planner);
  planner.on_prediction(prediction({1, 5, 0}, kHot));
  EXPECT_EQ(planner.plan(demand({1, 3, 0}, kEven)).plan.ahead.size(), 1U);
  const Plan second = planner.plan(demand({1, 5, 0}, kHot)).plan;
  EXPECT_EQ(second.unready, (std::vector<ReplicaAt>{{0, 1}}));
  EXPECT_EQ(second.ffn_ns, 10 + 11 * 100 + 2 * 5);
  const Plan third = planner.plan(demand({2, 5, 0}, kHot)).plan;
  EXPECT_TRUE(third.unready.empty());
  EXPECT_LT(third.ffn_ns, second.ffn_ns);
}

TEST_F(Ahead, OnlyCopiesThatAreThereInTimeAreMade) {
  Planner planner(two_layers(), cluster(1, 2, 1, 64, 1), small_cost(), by_prediction(0));
  start(planner);
  planner.on_prediction(prediction({1, 5, 0}, kHot));
  EXPECT_TRUE(planner.plan(demand({1, 3, 0}, kEven)).plan.ahead.empty());  // 220 ns, a copy takes 250
  planner.plan(demand({1, 5, 0}, kEven));
  planner.on_prediction(prediction({2, 5, 0}, kHot));
  EXPECT_EQ(planner.plan(demand({2, 3, 0}, {128, 64, 64, 64})).plan.ahead.size(), 1U);  // 320 ns
}

TEST_F(Ahead, APredictionThatRestsOnALaterLayerIsNotKnownYet) {
  Planner planner(two_layers(), cluster(1, 2, 1, 64, 1), small_cost(), by_prediction(2000));
  start(planner);
  planner.on_prediction(prediction({1, 5, 0}, kHot, 4));
  EXPECT_TRUE(planner.plan(demand({1, 3, 0}, kEven)).plan.ahead.empty());
}

TEST_F(Ahead, TheLatestPredictionCounts) {
  Planner planner(two_layers(), cluster(1, 2, 1, 64, 1), small_cost(), by_prediction(2000));
  start(planner);
  planner.on_prediction(prediction({1, 5, 0}, kEven, kAbsent));
  planner.on_prediction(prediction({1, 5, 0}, kEven, 3));
  planner.on_prediction(prediction({1, 5, 0}, kHot, 3));
  EXPECT_EQ(planner.plan(demand({1, 3, 0}, kEven)).plan.ahead.size(), 1U);
}

// What was not foreseen is split over what stands, though a copy would pay.
TEST_F(Ahead, WithoutAPredictionNothingIsCopied) {
  Planner planner(two_layers(), cluster(1, 2, 1, 64, 1), small_cost(), by_prediction(2000));
  start(planner);
  EXPECT_TRUE(planner.plan(demand({1, 3, 0}, kEven)).plan.ahead.empty());
  const Plan plan = planner.plan(demand({1, 5, 0}, kHot)).plan;
  EXPECT_TRUE(plan.copies.empty());
  EXPECT_EQ(plan.ffn_ns, 10 + 11 * 100 + 2 * 5);
  EXPECT_LT(plan.ffn_bound_ns, plan.ffn_ns);  // which judges it by what could be reached
}

TEST_F(Ahead, WithoutOverlapNothingIsMadeAhead) {
  PlannerOptions options = by_prediction(2000);
  options.overlap = false;
  Planner planner(two_layers(), cluster(1, 2, 1, 64, 1), small_cost(), options);
  start(planner);
  planner.on_prediction(prediction({1, 5, 0}, kHot));
  EXPECT_TRUE(planner.plan(demand({1, 3, 0}, kEven)).plan.ahead.empty());
}

TEST_F(Ahead, SlotsThatAnotherPredictedTargetCountsOnStay) {
  Planner planner(two_layers(), cluster(1, 2, 1, 64, 2), small_cost(), by_prediction(20'000));
  for (int m = 0; m < 2; ++m) planner.plan(demand({0, 3, m}, kEven));
  for (int m = 0; m < 2; ++m) planner.plan(demand({0, 5, m}, kEven));
  planner.on_prediction(prediction({1, 5, 0}, kHot));
  planner.on_prediction(prediction({1, 5, 1}, {64, 640, 64, 64}));
  EXPECT_EQ(planner.plan(demand({1, 3, 0}, kEven)).plan.ahead.size(), 1U);
  EXPECT_TRUE(planner.plan(demand({1, 3, 1}, kEven)).plan.ahead.empty());  // the one slot is taken
  EXPECT_EQ(planner.placement(5).expert_at(1, 2), 0);
}

TEST_F(Ahead, PredictionsWithoutTargetsAreForgottenAndTheirNumberIsBounded) {
  Planner planner(two_layers(), cluster(1, 2, 1, 64, 1), small_cost(), by_prediction(2000));
  start(planner);
  for (int step = 1; step <= 100'000; ++step) {
    planner.on_prediction(prediction({step, 5, 0}, kHot));
    planner.plan(demand({step, 3, 0}, kEven));  // 5 never comes
  }
  const auto flood = [&] {
    for (int step = 0; step < 70'000; ++step) planner.on_prediction(prediction({1'000'000 + step, 5, 0}, kHot));
  };
  EXPECT_THROW(flood(), Error);
}

TEST_F(Ahead, CountsWithoutBoundAreRefused) {
  LayerCost cost = small_cost();
  cost.c1_ns = 1'000'000'000;
  Planner planner(two_layers(), cluster(1, 2, 1, 64, 1), cost, by_prediction(2000));
  start(planner);
  const std::int64_t most = std::int64_t{1} << 53;
  EXPECT_THROW(planner.on_prediction(prediction({1, 5, 0}, {most, 0, 0, 0})), Error);
  Planner cheap(two_layers(), cluster(1, 2, 1, 64, 1), small_cost(), by_prediction(2000));
  EXPECT_THROW(cheap.on_prediction(prediction({1, 5, 0}, {most / 1024, 0, 0, 0})), Error);
  EXPECT_NO_THROW(cheap.on_prediction(prediction({1, 5, 0}, {std::int64_t{1} << 31, 0, 0, 0})));
}

TEST_F(Ahead, PoliciesThatLookAtNoPredictionsForgetThem) {
  PlannerOptions options = by_prediction();
  options.policy = "afore";
  options.source = DemandSource::usual;
  Planner planner(two_layers(), cluster(1, 2, 1, 64, 1), small_cost(), options);
  for (int step = 0; step < 70'000; ++step) planner.on_prediction(prediction({step, 5, 0}, kHot));
  EXPECT_EQ(planner.predictions_used(), 0);
}

// Predictions that are always right, of demand that moves: worth slots of their own. Then they are always wrong.
TEST_F(Ahead, JoinedGivesSlotsToPredictionsWhileTheyPay) {
  PlannerOptions options = by_prediction(2000);
  options.policy = "joined";
  options.source = DemandSource::usual;
  ModelSpec spec = model(16);
  spec.moe_layers = {3, 5};
  LayerCost cost = small_cost();
  cost.c0_ns = 0;
  Planner planner(spec, cluster(1, 4, 2, 64, 1), cost, options);
  const auto hot = [](int expert) {
    std::vector<std::int64_t> counts(16, 64);
    counts[static_cast<std::size_t>(expert)] = 960;
    return counts;
  };
  std::int64_t ahead = 0;
  std::set<int> receivers, slots;
  const auto run = [&](int begin, int end, bool right) {
    ahead = 0;
    for (int step = begin; step < end; ++step) {
      const int expert = step * 3 % 16;
      planner.on_prediction(prediction({step, 5, 0}, hot(right ? expert : (expert + 8) % 16)));
      const Plan plan = planner.plan(demand({step, 3, 0}, std::vector<std::int64_t>(16, 256))).plan;
      ahead += std::ssize(plan.ahead);
      for (const AheadCopy& copy : plan.ahead) receivers.insert(copy.copy.to), slots.insert(copy.copy.slot);
      planner.plan(demand({step, 5, 0}, hot(expert)));
    }
  };
  run(0, 100, true);
  EXPECT_GT(ahead, 40);
  EXPECT_EQ(receivers, (std::set<int>{0, 1, 2, 3}));
  EXPECT_EQ(slots, std::set<int>{5});                                   // the last of each worker's two redundant ones
  planner.plan(demand({100, 5, 0}, std::vector<std::int64_t>(16, 0)));  // says nothing of what predictions are worth
  run(100, 200, true);
  EXPECT_GT(ahead, 80);
  run(200, 300, false);
  run(300, 360, false);
  EXPECT_EQ(ahead, 0);
}

}  // namespace
}  // namespace afore::pipeline
