// What an engine says of itself while it serves, and with each of the faults it can be told to have: they are seen, and
// the run can be ended all the same.
#include <gtest/gtest.h>

#include <atomic>

#include "watched.h"

namespace afore::host {
namespace {

constexpr Nanos kMs = 1'000'000;

ModelRun busy_run() {
  Draw draw{7};
  ModelRun run = plain_run(random_requests(draw, 12));
  for (IncomingRequest& request : run.requests) request.record.arrival_ns = 0;
  set_workers(run, 1, 4, 2);
  return run;
}

struct Seen : Watched {
  EngineHealth health;
};

Seen serve_until(const ModelRun& run, const std::function<bool(const EngineHealth&, Nanos)>& wanted) {
  ThreadRunner runner(tiny_model(), run.threads, run.planner, {}, {});
  EngineHealth health;
  const Watched watched = serve_watched(runner, run, [&] {
    health = runner.engine().health();
    return wanted(health, runner.now());
  });
  return {watched, health};
}

TEST(ThreadsHealth, AnEngineThatServesIsWell) {
  const ModelRun run = busy_run();
  ThreadRunner runner(tiny_model(), run.threads, run.planner, {}, {});
  EngineHealth health = runner.engine().health();
  EXPECT_FALSE(health.awaited_plan);
  EXPECT_FALSE(health.last_plan_ns);
  EXPECT_FALSE(health.oldest_copy);
  EXPECT_EQ(health.ffn_queue, std::vector<std::int64_t>(4, 0));

  std::atomic<bool> ended{false};
  std::thread beside([&] {
    while (!ended) {
      const EngineHealth now = runner.engine().health();
      EXPECT_EQ(now.failure, "");
      EXPECT_LE(now.waiting_targets, 2);
    }
  });
  const Answers answers = on_workers(runner, run);
  ended = true;
  beside.join();
  EXPECT_EQ(answers.completions.size(), run.requests.size());
  health = runner.engine().health();
  EXPECT_FALSE(health.awaited_plan);
  EXPECT_FALSE(health.oldest_copy);
  EXPECT_EQ(health.waiting_targets, 0);
  EXPECT_EQ(health.ffn_queue, std::vector<std::int64_t>(4, 0));
  ASSERT_TRUE(health.last_plan_ns);
  EXPECT_GT(*health.last_plan_ns, 0);
}

// With one microbatch an attention worker's thread plans.
class ThreadsFaults : public testing::TestWithParam<int> {
 protected:
  ThreadsFaults() { set_workers(run, 1, 4, GetParam()); }
  ModelRun run = busy_run();
};

INSTANTIATE_TEST_SUITE_P(Microbatches, ThreadsFaults, testing::Values(1, 2));

TEST_P(ThreadsFaults, APlanThatHangs) {
  run.threads.faults.hang_plan_after_ns = 2 * kMs;
  const Seen seen = serve_until(run, [](const EngineHealth& health, Nanos now) {
    return health.awaited_plan && now - health.awaited_plan->since_ns > 300 * kMs;
  });
  EXPECT_TRUE(seen.seen);
  EXPECT_GE(seen.health.waiting_targets, 1);
  EXPECT_TRUE(seen.interrupted);
  EXPECT_EQ(seen.error, "");
  EXPECT_LT(seen.ended_after_ns, 5'000 * kMs);
}

TEST_P(ThreadsFaults, ACopyThatHangs) {
  run.threads.faults.hang_copy_after_ns = 0;
  const Seen seen = serve_until(run, [](const EngineHealth& health, Nanos now) {
    return health.oldest_copy && now - health.oldest_copy->since_ns > 300 * kMs;
  });
  ASSERT_TRUE(seen.seen);
  EXPECT_GE(seen.health.oldest_copy->copy.expert, 0);
  EXPECT_LT(seen.health.oldest_copy->copy.to, 4);
  EXPECT_GE(seen.health.oldest_copy->layer, 1);
  EXPECT_TRUE(seen.interrupted);
  EXPECT_EQ(seen.error, "");
  EXPECT_LT(seen.ended_after_ns, 5'000 * kMs);
}

TEST_P(ThreadsFaults, ASchedulerThatFails) {
  run.threads.faults.fail_scheduler_after_ns = 2 * kMs;
  const Seen seen = serve_until(run, [](const EngineHealth& health, Nanos) { return !health.failure.empty(); });
  EXPECT_TRUE(seen.seen);
  EXPECT_EQ(seen.health.failure, "the scheduler died: the scheduler fails, as it was told to");
  EXPECT_EQ(seen.error, "the scheduler fails, as it was told to");
}

// A copy that no target waits for ends with the run, too: those of the last step, when one microbatch is served.
TEST(ThreadsHealth, ACopyThatHangsAtTheEndIsLetGo) {
  ModelRun run = busy_run();
  set_workers(run, 1, 4, 1);
  std::int64_t last_step = 0, copies = 0;
  ThreadSink sink;
  sink.planned = [&](const Batch*, const Demand& demand, const pipeline::PlannedTarget& planned) {
    last_step = demand.target.step;
    copies += std::ssize(planned.plan.copies);
  };
  run.planner.policy = "static";
  {
    ThreadRunner runner(tiny_model(), run.threads, run.planner, sink, {});
    on_workers(runner, run);
  }
  run.planner.policy = "eplb";
  run.planner.eplb.interval_steps = static_cast<int>(last_step);
  run.threads.faults.hang_copy_after_ns = 0;
  run.threads.deadline_ns = 10'000 * kMs;
  ThreadRunner runner(tiny_model(), run.threads, run.planner, sink, {});
  EXPECT_EQ(on_workers(runner, run).completions.size(), run.requests.size());
  ASSERT_GT(copies, 0);
  EXPECT_EQ(runner.engine().copies_done(), copies);
}

}  // namespace
}  // namespace afore::host
