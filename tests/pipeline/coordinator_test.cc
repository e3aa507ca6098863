// Targets leave in stream order, a bounded number ahead; sampling stands between the steps of a microbatch.
#include "pipeline/coordinator.h"

#include "fixtures.h"

namespace afore::pipeline {
namespace {

class Recorder final : public Coordinator::Actions {
 public:
  void send_work(const Demand&, const Batch&, const WorkItem& item) override {
    items.push_back(item);
    const bool sampling = item.kind == WorkItem::Kind::sampling;
    log.push_back((sampling             ? "sample "
                   : item.first_in_step ? "first "
                                        : "next ") +
                  name(item.target) + (sampling || item.first_in_step ? "" : " after " + name(item.previous)));
  }
  void step_done(std::int64_t step, int microbatch) override {
    log.push_back("step " + std::to_string(step) + " of " + std::to_string(microbatch));
  }
  Log take() { return std::exchange(log, {}); }

  Log log;
  std::vector<WorkItem> items;
};

void push(Coordinator& coordinator, Target target) { coordinator.on_target(demand(target, {1, 1}), {}); }

TEST(Coordinator, SamplesBetweenStepsAndAtTheEnd) {
  Recorder recorder;
  Coordinator coordinator(1, 100, recorder);
  for (const Target& target : std::vector<Target>{{0, 1, 0}, {0, 1, 1}, {0, 2, 0}, {0, 2, 1}, {1, 1, 0}, {1, 1, 1}})
    push(coordinator, target);
  EXPECT_EQ(recorder.take(), (Log{"first 0:1:0", "first 0:1:1", "next 0:2:0 after 0:1:0", "next 0:2:1 after 0:1:1",
                                  "sample 0:2:0", "first 1:1:0", "sample 0:2:1", "first 1:1:1"}));
  coordinator.on_end();
  EXPECT_EQ(recorder.take(), (Log{"sample 1:1:0", "sample 1:1:1"}));
  EXPECT_FALSE(coordinator.idle());
  for (const WorkItem& item : recorder.items) coordinator.on_item_done(item);
  EXPECT_EQ(recorder.take(), (Log{"step 0 of 0", "step 0 of 1", "step 1 of 0", "step 1 of 1"}));
  EXPECT_TRUE(coordinator.idle());
  EXPECT_FALSE(coordinator.starved());
}

TEST(Coordinator, AStepThatIsEndedIsSampledAtOnceAndOnce) {
  Recorder recorder;
  Coordinator coordinator(1, 100, recorder);
  push(coordinator, {0, 1, 0});
  push(coordinator, {0, 1, 1});
  coordinator.on_step_end(1);
  EXPECT_EQ(recorder.take(), (Log{"first 0:1:0", "first 0:1:1", "sample 0:1:1"}));
  EXPECT_ANY_THROW(coordinator.on_step_end(1));
  push(coordinator, {1, 1, 1});
  EXPECT_EQ(recorder.take(), (Log{"first 1:1:1"}));
  coordinator.on_end();
  EXPECT_EQ(recorder.take(), (Log{"sample 0:1:0", "sample 1:1:1"}));
}

// A microbatch that is absent from the last step ends first: its results are there first.
TEST(Coordinator, LastSamplingInTheOrderOfTheLastTargets) {
  Recorder recorder;
  Coordinator coordinator(1, 100, recorder);
  for (const Target& target : std::vector<Target>{{0, 1, 0}, {0, 1, 1}, {1, 1, 0}}) push(coordinator, target);
  recorder.take();
  coordinator.on_end();
  EXPECT_EQ(recorder.take(), (Log{"sample 0:1:1", "sample 1:1:0"}));
}

TEST(Coordinator, BoundedAheadUntilEveryWorkerIsThrough) {
  Recorder recorder;
  Coordinator coordinator(2, 2, recorder);
  EXPECT_TRUE(coordinator.starved());
  push(coordinator, {0, 1, 0});
  EXPECT_TRUE(coordinator.starved());
  push(coordinator, {0, 1, 1});
  EXPECT_FALSE(coordinator.starved());
  push(coordinator, {0, 1, 2});
  EXPECT_EQ(recorder.take(), (Log{"first 0:1:0", "first 0:1:1"}));
  coordinator.on_item_done(recorder.items[0]);  // one of two workers
  EXPECT_EQ(recorder.take(), Log{});
  coordinator.on_item_done(recorder.items[0]);
  EXPECT_EQ(recorder.take(), Log{"first 0:1:2"});
  EXPECT_FALSE(coordinator.starved());
  for (const int i : {1, 1}) coordinator.on_item_done(recorder.items[i]);
  EXPECT_TRUE(coordinator.starved());
}

TEST(Coordinator, SamplingTakesAPlaceToo) {
  Recorder recorder;
  Coordinator coordinator(1, 1, recorder);
  push(coordinator, {0, 1, 0});
  push(coordinator, {1, 1, 0});
  coordinator.on_item_done(recorder.items[0]);
  EXPECT_EQ(recorder.take(), (Log{"first 0:1:0", "sample 0:1:0"}));
  coordinator.on_item_done(recorder.items[1]);
  EXPECT_EQ(recorder.take(), (Log{"step 0 of 0", "first 1:1:0"}));
}

TEST(Coordinator, RefusesWhatItDidNotGive) {
  Recorder recorder;
  Coordinator coordinator(1, 2, recorder);
  push(coordinator, {0, 1, 0});
  WorkItem other = recorder.items[0];
  other.kind = WorkItem::Kind::sampling;
  EXPECT_NE(error_of([&] { coordinator.on_item_done(other); }, ErrorKind::internal), "no error");
}

}  // namespace
}  // namespace afore::pipeline
