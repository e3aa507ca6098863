// Numbers of a run, worked out by hand.
#include "pipeline/run_metrics.h"

#include "fixtures.h"

namespace afore::pipeline {
namespace {

const Target kA{0, 1, 0}, kB{0, 1, 1};

// Two workers, loads in tiles and tokens as given.
PublishedPlan loads(Target target, std::vector<std::int64_t> tiles, std::vector<std::int64_t> tokens,
                    std::int64_t bound) {
  PublishedPlan p;
  p.plan.target = target;
  p.plan.policy = "afore";
  p.plan.max_tile_load = *std::max_element(tiles.begin(), tiles.end());
  p.plan.lower_bound = bound;
  p.tiles = std::move(tiles);
  p.worker_tokens = std::move(tokens);
  return p;
}

struct RunMetricsTest : testing::Test {
  RunMetrics metrics{cluster(1, 2, 1, 64, 2), small_cost()};
  // Both workers report; the observed record.
  Observed report(const PublishedPlan& plan, WorkerTimes first, WorkerTimes second) {
    Observed observed;
    EXPECT_FALSE(metrics.on_times(plan, 0, first, 2, observed));
    EXPECT_TRUE(metrics.on_times(plan, 1, second, 2, observed));
    return observed;
  }
};

TEST_F(RunMetricsTest, ImbalanceBalancednessAndLoadOverBound) {
  metrics.count_plan(loads(kA, {3, 1}, {150, 50}, 2), {});
  metrics.count_plan(loads(kB, {2, 2}, {100, 60}, 2), {});
  const Summary s = metrics.summary();
  EXPECT_EQ(s.targets, 2);
  EXPECT_DOUBLE_EQ(*s.imbalance_tokens, (150.0 / 100 + 100.0 / 80) / 2);
  EXPECT_DOUBLE_EQ(*s.imbalance_tiles, (3.0 / 2 + 1.0) / 2);
  EXPECT_DOUBLE_EQ(*s.balancedness, (100.0 + 80) / (150 + 100));
  EXPECT_DOUBLE_EQ(*s.load_over_bound, (1.5 + 1.0) / 2);
}

TEST_F(RunMetricsTest, TargetsWithoutWorkDoNotDivideByZero) {
  metrics.count_plan(loads(kA, {0, 0}, {0, 0}, 0), {});
  const Summary s = metrics.summary();
  EXPECT_EQ(s.targets, 1);
  EXPECT_FALSE(s.load_over_bound);
  EXPECT_FALSE(s.balancedness);
  EXPECT_FALSE(s.gain_captured);
}

TEST_F(RunMetricsTest, GainCapturedOfTimeAndExposure) {
  const PublishedPlan plan = loads(kA, {1, 1}, {1, 1}, 1);
  metrics.count_plan(plan, {.static_ns = 1000, .ideal_ns = 600});
  report(plan, {.ffn_ns = 700, .window_ns = 10},
         {.ffn_ns = 500, .migration_ns = 60, .window_ns = 10, .exposed_ns = 50});
  EXPECT_DOUBLE_EQ(*metrics.summary().gain_captured, (1000.0 - 700 - 50) / (1000 - 600));
}

TEST_F(RunMetricsTest, GainCapturedIsNullWhereNothingIsToBeGained) {
  const PublishedPlan plan = loads(kA, {1, 1}, {1, 1}, 1);
  metrics.count_plan(plan, {.static_ns = 600, .ideal_ns = 600});
  report(plan, {.ffn_ns = 600}, {.ffn_ns = 600});
  EXPECT_FALSE(metrics.summary().gain_captured);
}

TEST_F(RunMetricsTest, TheObservedWorkerIsTheMostExposedThenTheLongestMigration) {
  const PublishedPlan plan = loads(kA, {1, 1}, {1, 1}, 1);
  Observed o = report(plan, {.ffn_ns = 9, .migration_ns = 400, .window_ns = 500, .slot_wait_ns = 3},
                      {.ffn_ns = 5, .migration_ns = 90, .window_ns = 80, .exposed_ns = 10});
  EXPECT_EQ(o.ffn_ns, 9);
  EXPECT_EQ(o.migration_ns, 90);
  EXPECT_EQ(o.window_ns, 80);
  EXPECT_EQ(o.exposed_ns, 10);
  EXPECT_EQ(o.slack_ns, 0);
  EXPECT_EQ(o.slot_wait_ns, 3);
  o = report(plan, {.migration_ns = 40, .window_ns = 500}, {.migration_ns = 70, .window_ns = 100});
  EXPECT_EQ(o.migration_ns, 70);
  EXPECT_EQ(o.slack_ns, 30);
  o = report(plan, {.migration_ns = 70, .window_ns = 100}, {.migration_ns = 70, .window_ns = 500});
  EXPECT_EQ(o.window_ns, 100);  // ties: the lower index
}

TEST_F(RunMetricsTest, WithoutCopiesTheWindowIsTheSmallest) {
  const PublishedPlan plan = loads(kA, {1, 1}, {1, 1}, 1);
  EXPECT_EQ(report(plan, {.window_ns = 500}, {.window_ns = 80}).window_ns, 80);
  EXPECT_EQ(report(plan, {.window_ns = 80}, {.window_ns = 500}).window_ns, 80);
}

Batch batch(std::vector<std::string> admitted, std::vector<std::string> finished) {
  Batch b;
  b.admitted = std::move(admitted);
  b.finished = std::move(finished);
  return b;
}

TEST_F(RunMetricsTest, TokenLatencyIsWeightedByTokensAndLeavesOutTheFirstStep) {
  const Batch none = batch({}, {});
  std::int64_t tokens = 1;
  for (const Nanos at : {5'000'000, 7'000'000, 10'000'000}) {
    const std::int64_t step = tokens - 1;
    metrics.on_target(demand({step, 1, 0}, {tokens++, 0}), &none);
    metrics.on_step_done(at, step, 0);
  }
  const Summary s = metrics.summary();
  EXPECT_EQ(s.itl.n, 5);
  EXPECT_DOUBLE_EQ(*s.itl.mean, (2.0 * 2 + 3.0 * 3) / 5);
  EXPECT_DOUBLE_EQ(*s.itl.median, 3.0);
  EXPECT_DOUBLE_EQ(*s.itl.p95, 3.0);
  EXPECT_FALSE(s.itl.p99);  // below 100 tokens
  EXPECT_DOUBLE_EQ(*s.step_ns, 2'500'000);
  EXPECT_DOUBLE_EQ(*s.duration, 0.010);
  EXPECT_EQ(s.total_output_tokens, 6);
  EXPECT_DOUBLE_EQ(*s.output_throughput, 600);
}

TEST_F(RunMetricsTest, TimePerOutputTokenOfWholeRequests) {
  const Batch batches[] = {batch({"a", "b"}, {}), batch({}, {"b"}), batch({}, {"a"})};
  for (std::int64_t step = 0; step < 3; ++step) {
    metrics.on_target(demand({step, 1, 0}, {4, 0}), &batches[step]);
    metrics.on_step_done(1'000'000 * (step + 1) * (step + 1), step, 0);
  }
  const Summary s = metrics.summary();
  EXPECT_EQ(s.completed, 2);
  EXPECT_EQ(s.failed, 0);
  EXPECT_EQ(s.tpot.n, 2);
  EXPECT_DOUBLE_EQ(*s.tpot.mean, ((4.0 - 1) / 1 + (9.0 - 1) / 2) / 2);
  EXPECT_DOUBLE_EQ(*s.request_throughput, 2 / 0.009);
  EXPECT_FALSE(s.ttft.mean);
}

TEST_F(RunMetricsTest, WithoutBatchesRequestNumbersAreNull) {
  for (std::int64_t step = 0; step < 3; ++step) {
    metrics.on_target(demand({step, 1, 0}, {4, 0}), nullptr);
    metrics.on_step_done(1'000'000 * (step + 1), step, 0);
  }
  const Summary s = metrics.summary();
  EXPECT_FALSE(s.completed);
  EXPECT_FALSE(s.request_throughput);
  EXPECT_FALSE(s.itl.mean);
  EXPECT_FALSE(s.tpot.mean);
  EXPECT_EQ(s.total_output_tokens, 12);
}

TEST_F(RunMetricsTest, WarmUpIsLeftOut) {
  const PublishedPlan cold = [] {
    PublishedPlan p = loads(kA, {9, 0}, {9, 0}, 1);
    p.phase = Phase::warmup;
    p.plan.copies = {{0, 0, 1, 1}};
    return p;
  }();
  metrics.on_target(demand({0, 1, 0}, {9, 0}, Phase::warmup), nullptr);
  metrics.count_plan(cold, {.static_ns = 5, .ideal_ns = 1});
  report(cold, {.ffn_ns = 99, .exposed_ns = 7}, {});
  metrics.on_outputs(500, kA);
  metrics.on_step_done(1'000'000, 0, 0);
  metrics.on_target(demand({1, 1, 0}, {4, 0}), nullptr);
  metrics.on_step_done(3'000'000, 1, 0);
  const Summary s = metrics.summary();
  EXPECT_EQ(s.targets, 0);
  EXPECT_EQ(s.copies, 0);
  EXPECT_EQ(s.exposed_targets, 0);
  EXPECT_EQ(s.notes.at("warmup_copies"), "1");
  EXPECT_EQ(s.total_output_tokens, 4);
  EXPECT_DOUBLE_EQ(*s.duration, 0.002);
  EXPECT_EQ(metrics.first_step_ns(), 500);  // of the run, warm-up or not
}

TEST_F(RunMetricsTest, PrefillTokensAreInput) {
  Batch mixed = batch({}, {});
  mixed.prefill_tokens = 3;
  metrics.on_target(demand({0, 1, 0}, {5, 0}, Phase::mixed), &mixed);
  metrics.on_target(demand({0, 1, 1}, {7, 0}, Phase::prefill), nullptr);
  metrics.on_step_done(1'000'000, 0, 0);
  metrics.on_step_done(2'000'000, 0, 1);
  const Summary s = metrics.summary();
  EXPECT_EQ(s.total_input_tokens, 10);
  EXPECT_EQ(s.total_output_tokens, 2);
}

TEST_F(RunMetricsTest, ARunWithoutTargetsHasNoNumbers) {
  const Summary s = metrics.summary();
  EXPECT_EQ(s.targets, 0);
  EXPECT_FALSE(s.duration);
  EXPECT_FALSE(s.ffn_ns);
  EXPECT_FALSE(s.imbalance_tiles);
  EXPECT_FALSE(s.step_ns);
}

}  // namespace
}  // namespace afore::pipeline
