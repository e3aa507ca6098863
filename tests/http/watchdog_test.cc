#include "http/watchdog.h"

#include <gtest/gtest.h>

namespace afore::http {
namespace {

constexpr Nanos kSecond = 1'000'000'000;

host::EngineHealth::AwaitedPlan asked_at(Nanos since_ns) { return {{1, 2, 0}, since_ns}; }
host::EngineHealth::MovingCopy started_at(Nanos since_ns) { return {{5, 0, 2, 1}, 3, since_ns}; }

TEST(Watchdog, AnEngineWithNothingToDoIsReadyForEver) {
  const Watchdog watchdog;
  host::EngineHealth health;
  EXPECT_EQ(watchdog.not_ready(health, 0, false), "");
  EXPECT_EQ(watchdog.not_ready(health, 1'000'000 * kSecond, false), "");
  health.last_plan_ns = kSecond;
  EXPECT_EQ(watchdog.not_ready(health, 1'000'000 * kSecond, false), "");
}

TEST(Watchdog, ATargetThatWaitsForItsPlan) {
  const Watchdog watchdog;
  host::EngineHealth health;
  health.last_plan_ns = 90 * kSecond;
  health.awaited_plan = asked_at(95 * kSecond);
  health.waiting_targets = 3;
  EXPECT_EQ(watchdog.not_ready(health, 105 * kSecond - 1, false), "");
  EXPECT_EQ(watchdog.not_ready(health, 105 * kSecond, false), "the last plan is 15 s old and 3 targets wait");
  health.waiting_targets = 1;
  health.last_plan_ns.reset();
  EXPECT_EQ(watchdog.not_ready(health, 107 * kSecond, false), "there is no plan after 107 s and 1 target waits");
}

TEST(Watchdog, AnIdleHourDoesNotCountAgainstTheNextPlan) {
  const Watchdog watchdog;
  host::EngineHealth health;
  health.last_plan_ns = kSecond;
  health.awaited_plan = asked_at(3600 * kSecond);
  health.waiting_targets = 1;
  EXPECT_EQ(watchdog.not_ready(health, 3609 * kSecond, false), "");
}

TEST(Watchdog, ACopyThatDoesNotEnd) {
  const Watchdog watchdog;
  host::EngineHealth health;
  health.oldest_copy = started_at(7 * kSecond);
  EXPECT_EQ(watchdog.not_ready(health, 17 * kSecond - 1, false), "");
  EXPECT_EQ(watchdog.not_ready(health, 17 * kSecond, false),
            "a copy of expert 5 of layer 3 to F2 has been under way for 10 s");
}

TEST(Watchdog, LimitsAreItsOwn) {
  const Watchdog watchdog({2 * kSecond, 3 * kSecond});
  host::EngineHealth health;
  health.awaited_plan = asked_at(0);
  EXPECT_EQ(watchdog.not_ready(health, 2 * kSecond - 1, false), "");
  EXPECT_NE(watchdog.not_ready(health, 2 * kSecond, false), "");
  health.awaited_plan.reset();
  health.oldest_copy = started_at(0);
  EXPECT_EQ(watchdog.not_ready(health, 3 * kSecond - 1, false), "");
  EXPECT_NE(watchdog.not_ready(health, 3 * kSecond, false), "");
}

TEST(Watchdog, SaysAllThereIsAndWhoDiedAlone) {
  const Watchdog watchdog;
  host::EngineHealth health;
  EXPECT_EQ(watchdog.not_ready(health, 0, true), "draining");
  health.last_plan_ns = 0;
  health.awaited_plan = asked_at(0);
  health.waiting_targets = 2;
  health.oldest_copy = started_at(0);
  EXPECT_EQ(
      watchdog.not_ready(health, 20 * kSecond, true),
      "draining; the last plan is 20 s old and 2 targets wait; a copy of expert 5 of layer 3 to F2 has been under "
      "way for 20 s");
  health.failure = "the scheduler died: out of memory";
  EXPECT_EQ(watchdog.not_ready(health, 20 * kSecond, true), "the scheduler died: out of memory");
}

}  // namespace
}  // namespace afore::http
