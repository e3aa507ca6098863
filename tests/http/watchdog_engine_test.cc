// A real engine with each of its faults, as the watchdog sees it.
#include <gtest/gtest.h>

#include "../host/watched.h"
#include "http/watchdog.h"

namespace afore::http {
namespace {

constexpr Nanos kMs = 1'000'000;

// The first thing that the watchdog says against the run; the run is ended then.
std::string complaint(const host::ThreadFaults& faults) {
  host::Draw draw{7};
  host::ModelRun run = host::plain_run(host::random_requests(draw, 12));
  host::set_workers(run, 1, 4, 2);
  run.threads.faults = faults;
  const Watchdog watchdog({300 * kMs, 300 * kMs});
  host::ThreadRunner runner(host::tiny_model(), run.threads, run.planner, {}, {});
  std::string said;
  host::serve_watched(runner, run, [&] {
    said = watchdog.not_ready(runner.engine().health(), runner.now(), false);
    return !said.empty();
  });
  return said;
}

TEST(WatchdogEngine, SeesAPlanThatHangs) {
  const std::string said = complaint({.hang_plan_after_ns = 5 * kMs});
  EXPECT_NE(said.find(" wait"), std::string::npos) << said;
}

TEST(WatchdogEngine, SeesACopyThatHangs) {
  const std::string said = complaint({.hang_copy_after_ns = 0});
  EXPECT_NE(said.find("a copy of expert "), std::string::npos) << said;
}

TEST(WatchdogEngine, SeesThatTheSchedulerDied) {
  EXPECT_EQ(complaint({.fail_scheduler_after_ns = 5 * kMs}),
            "the scheduler died: the scheduler fails, as it was told to");
}

}  // namespace
}  // namespace afore::http
