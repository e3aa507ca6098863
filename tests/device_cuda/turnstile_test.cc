#include "device/cuda/turnstile.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "util/error.h"

namespace afore::device::cuda {
namespace {

const Deadline kFar = Clock::now() + std::chrono::seconds(60);

TEST(Turnstile, ThreadsPassInTheOrderOfTheirNumbers) {
  Turnstile turnstile;
  std::vector<int> passed;
  std::vector<std::thread> threads;
  for (int number : {5, 3, 1, 0, 2, 4})
    threads.emplace_back([&, number] {
      turnstile.enter(static_cast<std::uint64_t>(number), kFar);
      passed.push_back(number);  // one at a time: no lock of ours
      turnstile.leave();
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(passed, (std::vector<int>{0, 1, 2, 3, 4, 5}));
}

std::string error_of(Turnstile& turnstile, std::uint64_t number, Deadline deadline) {
  try {
    turnstile.enter(number, deadline);
  } catch (const Error& error) {
    return error.what();
  }
  return "passed";
}

TEST(Turnstile, ACallThatIsNeverMadeIsNamedAndEndsAll) {
  Turnstile turnstile;
  const std::string why = "call 1 did not get its turn in time: call 0 was not made";
  EXPECT_EQ(error_of(turnstile, 1, Clock::now()), why);
  EXPECT_EQ(error_of(turnstile, 0, kFar), why);
  EXPECT_EQ(turnstile.broken(), why);
}

TEST(Turnstile, ACallThatDoesNotEndIsNamed) {
  Turnstile turnstile;
  turnstile.enter(0, kFar);
  EXPECT_EQ(error_of(turnstile, 1, Clock::now()), "call 1 did not get its turn in time: call 0 has not ended");
}

TEST(Turnstile, BreakingItWakesWhoeverWaits) {
  Turnstile turnstile;
  std::string heard;
  std::thread waiter([&] { heard = error_of(turnstile, 1, kFar); });
  turnstile.break_off("a peer died");
  turnstile.break_off("later reasons do not count");
  waiter.join();
  EXPECT_EQ(heard, "a peer died");
}

TEST(Turnstile, ANumberPassesOnce) {
  Turnstile turnstile;
  turnstile.enter(0, kFar);
  EXPECT_THROW(turnstile.enter(0, kFar), Error);
  turnstile.leave();
  EXPECT_THROW(turnstile.enter(0, kFar), Error);
  turnstile.enter(1, kFar);
}

}  // namespace
}  // namespace afore::device::cuda
