// Parts become one demand, targets are planned in stream order, one at a time, and a full ring makes them wait.
#include "pipeline/scheduler.h"

#include "fixtures.h"

namespace afore::pipeline {
namespace {

class Recorder final : public Scheduler::Actions {
 public:
  void start_planning(const Demand& d) override {
    std::string text = "plan ";
    text.append(name(d.target)).append(" tokens ").append(std::to_string(d.tokens)).append(":");
    for (const std::int64_t count : d.counts) text.append(" ").append(std::to_string(count));
    log.push_back(text);
  }
  bool publish(const Target& target) override {
    log.push_back((full ? "full " : "publish ") + name(target));
    return !full;
  }
  Log take() { return std::exchange(log, {}); }

  Log log;
  bool full = false;
};

const Target kA{0, 1, 0}, kB{0, 1, 1};
using Counts = std::vector<std::int64_t>;

struct SchedulerTest : testing::Test {
  SchedulerTest() {
    scheduler.on_target(kA, Phase::decode, 5, 3);
    scheduler.on_target(kB, Phase::decode, 6, 3);
  }
  Recorder recorder;
  Scheduler scheduler{2, recorder};
};

TEST_F(SchedulerTest, AddsThePartsOfAllAttentionWorkers) {
  scheduler.on_demand(1, kA, Counts{1, 0, 2});
  EXPECT_EQ(recorder.take(), Log{});
  scheduler.on_demand(0, kA, Counts{0, 2, 0});
  EXPECT_EQ(recorder.take(), Log{"plan 0:1:0 tokens 5: 1 2 2"});
}

TEST_F(SchedulerTest, PlansInStreamOrderWhateverArrivesFirst) {
  scheduler.on_demand(0, kB, Counts{1, 1, 1});
  scheduler.on_demand(1, kB, Counts{1, 1, 1});
  EXPECT_EQ(recorder.take(), Log{});
  scheduler.on_demand(0, kA, Counts{1, 1, 1});
  scheduler.on_demand(1, kA, Counts{1, 1, 0});
  EXPECT_EQ(recorder.take(), Log{"plan 0:1:0 tokens 5: 2 2 1"});
  scheduler.on_planned(kA);
  EXPECT_EQ(recorder.take(), (Log{"publish 0:1:0", "plan 0:1:1 tokens 6: 2 2 2"}));
}

TEST_F(SchedulerTest, WaitsForTheRing) {
  for (const int source : {0, 1}) scheduler.on_demand(source, kA, Counts{1, 1, 1});
  for (const int source : {0, 1}) scheduler.on_demand(source, kB, Counts{1, 1, 1});
  recorder.take();
  recorder.full = true;
  scheduler.on_planned(kA);
  EXPECT_EQ(recorder.take(), Log{"full 0:1:0"});
  recorder.full = false;
  scheduler.on_ring_free();
  EXPECT_EQ(recorder.take(), (Log{"publish 0:1:0", "plan 0:1:1 tokens 6: 2 2 2"}));
  scheduler.on_ring_free();  // nobody waits
  EXPECT_EQ(recorder.take(), Log{});
}

TEST_F(SchedulerTest, ANewEpochPlansUnfinishedTargetsAgainAndFirst) {
  for (const int source : {0, 1}) scheduler.on_demand(source, kA, Counts{1, 1, 1});
  scheduler.on_demand(0, kB, Counts{1, 1, 1});
  scheduler.on_planned(kA);
  recorder.take();
  scheduler.on_epoch(std::vector<Demand>{demand(kA, {2, 2, 1})});
  EXPECT_EQ(recorder.take(), Log{"plan 0:1:0 tokens 5: 2 2 1"});
  // A second loss while that is being planned: it is not published, so the scheduler still has it.
  scheduler.on_epoch({});
  EXPECT_EQ(recorder.take(), Log{"plan 0:1:0 tokens 5: 2 2 1"});
  scheduler.on_planned(kA);
  EXPECT_EQ(recorder.take(), Log{"publish 0:1:0"});
  scheduler.on_demand(1, kB, Counts{1, 1, 1});  // what was under way to the scheduler still counts
  EXPECT_EQ(recorder.take(), Log{"plan 0:1:1 tokens 6: 2 2 2"});
}

TEST_F(SchedulerTest, RefusesAPartTwiceAndUnknownTargets) {
  scheduler.on_demand(1, kA, Counts{1, 0, 2});
  EXPECT_NE(error_of([&] { scheduler.on_demand(1, kA, Counts{1, 0, 2}); }, ErrorKind::internal), "no error");
  EXPECT_NE(error_of([&] { scheduler.on_demand(1, {9, 1, 0}, Counts{1, 0, 2}); }, ErrorKind::internal), "no error");
  EXPECT_NE(error_of([&] { scheduler.on_planned(kA); }, ErrorKind::internal), "no error");
}

}  // namespace
}  // namespace afore::pipeline
