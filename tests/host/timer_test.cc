// Deliveries at their times, in order; waits that end when the run does.
#include "host/threads/timer.h"

#include <gtest/gtest.h>

#include <future>

#include "util/error.h"

namespace afore::host {
namespace {

TEST(WallClock, RunsFromItsStart) {
  WallClock clock;
  const Nanos before = clock.now();
  EXPECT_GE(before, 0);
  EXPECT_GE(clock.now(), before);
  clock.sleep_until(before + 3'000'000, std::atomic<bool>(false));
  const Nanos after = clock.now();
  EXPECT_GE(after, before + 3'000'000);
  clock.restart();
  EXPECT_LT(clock.now(), after);
}

TEST(WallClock, SleepsNoMoreWhenTheRunIsStopped) {
  const WallClock clock;
  const std::atomic<bool> stop{true};
  clock.sleep_until(Nanos{1} << 60, stop);  // 36 years
}

TEST(WallClock, WhatIsPastIsNotWaitedFor) {
  const WallClock clock;
  clock.sleep_until(-5, std::atomic<bool>(false));
}

TEST(Timer, DeliversInOrderOfTimeThenOfAsking) {
  const WallClock clock;
  std::vector<std::pair<int, Nanos>> got;
  std::promise<void> done;
  Timer timer(clock, [](std::exception_ptr) { FAIL(); });
  const Nanos now = clock.now();
  const auto note = [&](int what) { return [&got, &clock, what] { got.emplace_back(what, clock.now()); }; };
  timer.at(now + 6'000'000, note(4));
  timer.at(now + 2'000'000, note(1));
  timer.at(now + 4'000'000, note(2));
  timer.at(now + 4'000'000, note(3));
  timer.at(now - 10, note(0));
  timer.at(now + 6'000'000, [&] { done.set_value(); });
  done.get_future().wait();
  ASSERT_EQ(got.size(), 5u);
  const Nanos due[] = {now, now + 2'000'000, now + 4'000'000, now + 4'000'000, now + 6'000'000};
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(got[i].first, i);
    EXPECT_GE(got[i].second, due[i]);
  }
}

TEST(Timer, ADeliveryMayAskForAnother) {
  const WallClock clock;
  std::promise<void> done;
  Timer timer(clock, [](std::exception_ptr) { FAIL(); });
  timer.at(0, [&] { timer.at(clock.now() + 1'000'000, [&] { done.set_value(); }); });
  done.get_future().wait();
}

TEST(Timer, TellsWhatADeliveryThrowsAndGoesOn) {
  const WallClock clock;
  std::promise<std::exception_ptr> failed;
  std::promise<void> done;
  Timer timer(clock, [&](std::exception_ptr error) { failed.set_value(error); });
  timer.at(0, [] { throw Error(ErrorKind::io, "no"); });
  timer.at(0, [&] { done.set_value(); });
  EXPECT_THROW(std::rethrow_exception(failed.get_future().get()), Error);
  done.get_future().wait();
}

TEST(Timer, DropsWhatIsNotDueWhenItStops) {
  const WallClock clock;
  bool delivered = false;
  {
    Timer timer(clock, [](std::exception_ptr) { FAIL(); });
    timer.at(Nanos{1} << 60, [&] { delivered = true; });
    timer.stop();
    timer.at(0, [&] { delivered = true; });
  }
  EXPECT_FALSE(delivered);
}

}  // namespace
}  // namespace afore::host
