// Faults by name, and when workers notice things.
#include "host/faults.h"

#include <gtest/gtest.h>

#include "util/error.h"

namespace afore::host {
namespace {

std::string fault_of(const std::string& text) {
  try {
    parse_faults(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "";
}

TEST(Faults, ReadWhatTheyWrite) {
  const std::string all =
      "kill:F2@12000000ns+100000000ns,pause:A0@3000000ns+2000000ns,slow@1000ns+5000ns=2.5,late-plan:F1@0ns+7ns,"
      "lost-plan:F1@1ns+1ns,late-done@0ns+9000000ns=50000ns,hold:F3@1000000ns+4000000ns";
  std::string again;
  for (const Fault& fault : parse_faults(all)) again += (again.empty() ? "" : ",") + to_string(fault);
  EXPECT_EQ(again, all);
  EXPECT_EQ(to_string(parse_faults("kill:F0@1.5us")[0]), "kill:F0@1500ns+100000000ns");
  EXPECT_EQ(to_string(parse_faults("pause:F10@1s+0.5ms")[0]), "pause:F10@1000000000ns+500000ns");
}

TEST(Faults, SayWhichPartIsWrong) {
  EXPECT_EQ(fault_of(""), "fault '': unknown kind ''");
  EXPECT_EQ(fault_of("kil:F0@1ms"), "fault 'kil:F0@1ms': unknown kind 'kil'");
  EXPECT_EQ(fault_of("kill@1ms"), "fault 'kill@1ms': the FFN worker is missing, like :F2");
  EXPECT_EQ(fault_of("kill:A0@1ms"), "fault 'kill:A0@1ms': the FFN worker is missing, like :F2");
  EXPECT_EQ(fault_of("pause:B0@1ms+1ms"), "fault 'pause:B0@1ms+1ms': the worker is missing, like :F2 or :A0");
  EXPECT_EQ(fault_of("pause:F@1ms+1ms"), "fault 'pause:F@1ms+1ms': the worker's number is missing");
  EXPECT_EQ(fault_of("pause:F-1@1ms+1ms"), "fault 'pause:F-1@1ms+1ms': the worker's number is missing");
  EXPECT_EQ(fault_of("pause:F0"), "fault 'pause:F0': @TIME is missing");
  EXPECT_EQ(fault_of("pause:F0@1ms"), "fault 'pause:F0@1ms': +TIME, how long it lasts, is missing");
  EXPECT_EQ(fault_of("pause:F0@1+1ms"), "fault 'pause:F0@1+1ms': a time needs a unit: ns, us, ms or s");
  EXPECT_EQ(fault_of("pause:F0@-1ms+1ms"), "fault 'pause:F0@-1ms+1ms': a time is not between 0 and a million seconds");
  EXPECT_EQ(fault_of("pause:F0@nanms+1ms"), "fault 'pause:F0@nanms+1ms': a number is missing before 'nanms+1ms'");
  EXPECT_EQ(fault_of("slow@1ms+1ms"), "fault 'slow@1ms+1ms': =FACTOR is missing");
  EXPECT_EQ(fault_of("slow@1ms+1ms=0.5"), "fault 'slow@1ms+1ms=0.5': the factor is not between 1 and 1000000");
  EXPECT_EQ(fault_of("hold:F0@1ms+1ms=3"), "fault 'hold:F0@1ms+1ms=3': '=3' is too much");
  EXPECT_EQ(fault_of("kill:F0@1ms,"), "fault '': unknown kind ''");
}

TEST(Faults, NameWorkersThatAreThereAndLeaveOne) {
  EXPECT_NO_THROW(check_faults(parse_faults("kill:F0@1ms,pause:A1@1ms+1ms"), 2, 2));
  EXPECT_THROW(check_faults(parse_faults("kill:F2@1ms"), 3, 2), Error);
  EXPECT_THROW(check_faults(parse_faults("pause:A2@1ms+1ms"), 2, 3), Error);
  EXPECT_THROW(check_faults(parse_faults("kill:F0@1ms,kill:F1@2ms"), 1, 2), Error);
}

using Lane = FaultClock::Lane;

TEST(FaultClock, PausesAndStallsEndTogetherAndLanesStayInOrder) {
  FaultClock clock(parse_faults("pause:F1@100ns+50ns,pause:F1@140ns+60ns,late-plan:F0@10ns+90ns"), 1, 2, 0);
  EXPECT_EQ(clock.notices('F', 1, Lane::compute, 99), 99);
  EXPECT_EQ(clock.notices('F', 1, Lane::compute, 100), 200);
  EXPECT_EQ(clock.notices('F', 1, Lane::copy_in, 150), 200);
  EXPECT_EQ(clock.notices('F', 1, Lane::copy_in, 200), 200);
  EXPECT_EQ(clock.notices('A', 0, Lane::compute, 120), 120);
  EXPECT_EQ(clock.notices('F', 0, Lane::plan, 20), 100);
  EXPECT_EQ(clock.notices('F', 0, Lane::plan, 100), 100);
  EXPECT_EQ(clock.notices('F', 0, Lane::message, 20), 20);
}

TEST(FaultClock, AnUntoldPlanIsFoundAMillisecondLaterOrWithTheNext) {
  FaultClock clock(parse_faults("lost-plan:F0@10ns+10ns"), 1, 1, 0);
  EXPECT_EQ(clock.notices('F', 0, Lane::plan, 15), 1'000'015);
  EXPECT_EQ(clock.notices('F', 0, Lane::plan, 25), 25);
}

TEST(FaultClock, LatenessKeepsTheOrderOfALaneButNotOfLanes) {
  FaultClock clock(parse_faults("late-done@0ns+1ms=100us"), 1, 1, 7);
  Nanos last = 0;
  bool overtaken = false;
  for (Nanos at = 0; at < 1'000'000; at += 1'000) {
    const Nanos in = clock.notices('F', 0, Lane::copy_in, at), out = clock.notices('F', 0, Lane::copy_out, at);
    EXPECT_GE(in, std::max(at, last));
    EXPECT_LE(in, std::max(last, at + 100'000));
    overtaken = overtaken || out < last;
    last = in;
  }
  EXPECT_TRUE(overtaken);
}

TEST(FaultClock, SlowdownAndHoldsHaveTheirTime) {
  const FaultClock clock(parse_faults("slow@10ns+10ns=4,slow@15ns+10ns=2,hold:F0@5ns+5ns"), 1, 1, 0);
  EXPECT_EQ(clock.slowdown(9), 1);
  EXPECT_EQ(clock.slowdown(15), 4);
  EXPECT_EQ(clock.slowdown(20), 2);
  EXPECT_EQ(clock.slowdown(25), 1);
  EXPECT_EQ(clock.held_until(0, 7), 10);
  EXPECT_EQ(clock.held_until(0, 10), 10);
}

}  // namespace
}  // namespace afore::host
