// One FFN worker against a host that only writes down what it asks for.
#include "pipeline/ffn_worker.h"

#include "fixtures.h"

namespace afore::pipeline {
namespace {

std::string copy_name(const CopyId& id) { return std::to_string(id.serial) + "." + std::to_string(id.index); }

class Recorder final : public FfnWorker::Actions {
 public:
  void post_copy(int, const CopyId& id, const Copy&, bool receives, int layer, int slot) override {
    log.push_back("post " + copy_name(id) + (receives ? " in" : " out"));
    ends.push_back(copy_name(id) + " layer " + std::to_string(layer) + " slot " + std::to_string(slot));
  }
  void release_copy(int, const CopyId& id, bool receives) override {
    log.push_back("release " + copy_name(id) + (receives ? " in" : " out"));
  }
  void run_ffn(int, const Target& target, std::int64_t tiles, std::int64_t activated,
               std::span<const int> used) override {
    slots.assign(used.begin(), used.end());
    log.push_back("run " + name(target) + " " + std::to_string(tiles) + " of " + std::to_string(activated));
  }
  void send_outputs(int, const Target& target) override { log.push_back("send " + name(target)); }
  void report(int, const Target&, const WorkerTimes& t) override { times = t; }
  Log take() { return std::exchange(log, {}); }

  Log log;
  Log ends;                // of the copies posted
  std::vector<int> slots;  // of the last run
  WorkerTimes times;
};

const Target kA{0, 1, 0}, kB{0, 1, 1}, kC{0, 1, 2};

// Worker 1 of three; expert e on worker e, one free slot each.
struct FfnWorkerTest : testing::Test {
  explicit FfnWorkerTest(bool overlap = true) : worker(1, overlap, recorder) {
    worker.set_placement(1, LayerPlacement::initial(3, 3, 1));
  }
  void expect_times(Nanos ffn, Nanos window, Nanos migration, Nanos exposed, Nanos slot_wait) {
    EXPECT_EQ(recorder.times.ffn_ns, ffn);
    EXPECT_EQ(recorder.times.window_ns, window);
    EXPECT_EQ(recorder.times.migration_ns, migration);
    EXPECT_EQ(recorder.times.exposed_ns, exposed);
    EXPECT_EQ(recorder.times.exposed_ns, std::max<Nanos>(0, migration - window));
    EXPECT_EQ(recorder.times.slot_wait_ns, slot_wait);
  }
  Recorder recorder;
  FfnWorker worker;
};

TEST_F(FfnWorkerTest, ATargetWaitsForTheCopyItUses) {
  worker.on_plan(100, published(0, kA, {{0, 0, 1, 1}}, {{0, 0, 4}, {0, 1, 3}, {1, 1, 1}}, 3));
  EXPECT_EQ(recorder.take(), (Log{"post 0.0 in", "release 0.0 in"}));
  worker.on_copy_started(100, {0, 0});
  worker.on_rows(150, kA);
  EXPECT_EQ(recorder.take(), Log{});
  worker.on_copy_done(350, {0, 0}, true);
  EXPECT_EQ(recorder.take(), Log{"run 0:1:0 4 of 2"});
  worker.on_ffn_done(770, kA);
  EXPECT_EQ(recorder.take(), Log{"send 0:1:0"});
  expect_times(420, 50, 250, 200, 0);
}

TEST_F(FfnWorkerTest, ACopyThatEndsInTheWindowIsHidden) {
  worker.on_plan(100, published(0, kA, {{0, 0, 1, 1}}, {{0, 1, 1}}, 3));
  worker.on_copy_done(350, {0, 0}, true);
  worker.on_rows(400, kA);
  worker.on_ffn_done(500, kA);
  expect_times(100, 300, 250, 0, 0);
}

TEST_F(FfnWorkerTest, ATargetDoesNotWaitForCopiesItDoesNotUse) {
  worker.on_plan(100, published(0, kA, {{0, 0, 1, 1}}, {{0, 0, 4}, {1, 1, 1}}, 3));
  recorder.take();
  worker.on_rows(150, kA);
  EXPECT_EQ(recorder.take(), Log{"run 0:1:0 1 of 1"});
  worker.on_ffn_done(260, kA);
  expect_times(110, 50, 0, 0, 0);
  // The next target uses the replica while its copy is still under way: it waits, from its own plan on.
  worker.on_plan(270, published(1, kB, {}, {{0, 1, 1}}, 3));
  worker.on_rows(280, kB);
  EXPECT_EQ(recorder.take(), Log{"send 0:1:0"});
  worker.on_copy_done(350, {0, 0}, true);
  EXPECT_EQ(recorder.take(), Log{"run 0:1:1 1 of 1"});
  worker.on_ffn_done(450, kB);
  expect_times(100, 10, 80, 70, 0);
}

TEST_F(FfnWorkerTest, BothEndsPostInListOrder) {
  worker.on_plan(0, published(0, kA, {{1, 1, 0, 1}, {2, 2, 1, 1}, {0, 0, 2, 1}, {1, 1, 2, -1}}, {{1, 1, 1}}, 3));
  EXPECT_EQ(recorder.take(), (Log{"post 0.0 out", "post 0.1 in", "post 0.3 out", "release 0.0 out", "release 0.3 out",
                                  "release 0.1 in"}));
}

TEST_F(FfnWorkerTest, ASlotWithPendingWorkIsNotOverwritten) {
  worker.on_plan(0, published(0, kA, {{0, 0, 1, 1}}, {{0, 1, 2}}, 3));
  worker.on_copy_started(0, {0, 0});
  worker.on_copy_done(250, {0, 0}, true);
  worker.on_rows(260, kA);
  EXPECT_EQ(recorder.take(), (Log{"post 0.0 in", "release 0.0 in", "run 0:1:0 2 of 1"}));
  worker.on_plan(300, published(1, kB, {{2, 2, 1, 1}}, {{2, 1, 1}}, 3));
  EXPECT_EQ(recorder.take(), Log{"post 1.0 in"});
  EXPECT_NE(error_of([&] { worker.on_copy_started(310, {1, 0}); }, ErrorKind::internal), "no error");
  worker.on_rows(400, kB);
  worker.on_ffn_done(500, kA);
  EXPECT_EQ(recorder.take(), (Log{"send 0:1:0", "release 1.0 in"}));
  worker.on_copy_started(500, {1, 0});
  worker.on_copy_done(750, {1, 0}, true);
  EXPECT_EQ(recorder.take(), Log{"run 0:1:1 1 of 1"});
  worker.on_ffn_done(850, kB);
  expect_times(100, 200, 450, 250, 200);
}

TEST_F(FfnWorkerTest, ACopyInWaitsForTheCopyThatReadsItsSlot) {
  worker.on_plan(0, published(0, kA, {{0, 0, 1, 1}, {0, 1, 2, 1}}, {}, 3));
  EXPECT_EQ(recorder.take(), (Log{"post 0.0 in", "post 0.1 out", "release 0.0 in"}));
  worker.on_copy_done(250, {0, 0}, true);
  EXPECT_EQ(recorder.take(), Log{"release 0.1 out"});
  worker.on_plan(300, published(1, kB, {{2, 2, 1, 1}}, {}, 3));  // over the replica that 0.1 reads
  EXPECT_EQ(recorder.take(), Log{"post 1.0 in"});
  worker.on_copy_done(500, {0, 1}, false);
  EXPECT_EQ(recorder.take(), Log{"release 1.0 in"});
}

TEST_F(FfnWorkerTest, ACopyOutWaitsForTheCopyThatFillsItsSlot) {
  worker.on_plan(0, published(0, kA, {{0, 0, 1, 1}}, {}, 3));
  worker.on_plan(10, published(1, kB, {{0, 1, 2, 1}}, {}, 3));
  EXPECT_EQ(recorder.take(), (Log{"post 0.0 in", "release 0.0 in", "post 1.0 out"}));
  worker.on_copy_done(250, {0, 0}, true);
  EXPECT_EQ(recorder.take(), Log{"release 1.0 out"});
}

TEST_F(FfnWorkerTest, TargetsRunInPlanOrderWhateverArrivesFirst) {
  worker.on_plan(0, published(0, kA, {}, {{1, 1, 1}}, 3));
  worker.on_plan(0, published(1, kB, {}, {{1, 1, 2}}, 3));
  worker.on_rows(10, kB);
  EXPECT_EQ(recorder.take(), Log{});
  worker.on_rows(20, kA);
  EXPECT_EQ(recorder.take(), Log{"run 0:1:0 1 of 1"});
  worker.on_ffn_done(125, kA);
  EXPECT_EQ(recorder.take(), (Log{"send 0:1:0", "run 0:1:1 2 of 1"}));
  worker.on_ffn_done(330, kB);
  expect_times(205, 125, 0, 0, 0);  // free when the target before it ended
}

TEST_F(FfnWorkerTest, TheWindowOfALatePlanIsZero) {
  worker.on_rows(100, kA);
  worker.on_plan(180, published(0, kA, {}, {{1, 1, 1}}, 3));
  EXPECT_EQ(recorder.take(), Log{"run 0:1:0 1 of 1"});
  worker.on_ffn_done(285, kA);
  expect_times(105, 0, 0, 0, 0);
}

TEST_F(FfnWorkerTest, RefusesPlansOutOfSequenceAndWorkWithoutWeights) {
  EXPECT_NE(error_of([&] { worker.on_plan(0, published(1, kA, {}, {}, 3)); }, ErrorKind::internal), "no error");
  worker.on_plan(0, published(0, kA, {}, {}, 3));
  EXPECT_NE(error_of([&] { worker.on_plan(0, published(0, kA, {}, {}, 3)); }, ErrorKind::internal), "no error");
  EXPECT_NE(error_of(
                [&] {
                  worker.on_plan(0, published(1, kB, {}, {{2, 1, 1}}, 3));
                },
                ErrorKind::internal),
            "no error");
}

TEST_F(FfnWorkerTest, RefusesToSendWhatItDoesNotHold) {
  EXPECT_NE(error_of(
                [&] {
                  worker.on_plan(0, published(0, kA, {{2, 1, 0, 1}}, {}, 3));
                },
                ErrorKind::internal),
            "no error");
}

TEST_F(FfnWorkerTest, VirtualPlansNeedNoPlacement) {
  auto plan = std::make_shared<PublishedPlan>(*published(0, {0, 9, 0}, {}, {{2, 1, 3}}, 3));
  plan->plan.is_virtual = true;
  worker.on_plan(0, plan);
  worker.on_rows(5, {0, 9, 0});
  EXPECT_EQ(recorder.take(), Log{"run 0:9:0 3 of 1"});
}

using Slots = std::vector<int>;

// Slots: 0 its own expert, 1 the free one, 2 staging.
TEST_F(FfnWorkerTest, ACopyIsPostedWithTheSlotOfItsOwnEnd) {
  worker.on_plan(0, published(0, kA, {{0, 0, 1, 1}, {1, 1, 0, 1}, {0, 1, 2, 1}, {2, 2, 1, -1}}, {}, 3));
  EXPECT_EQ(recorder.ends,
            (Log{"0.0 layer 1 slot 1", "0.1 layer 1 slot 0", "0.2 layer 1 slot 1", "0.3 layer 1 slot 2"}));
}

TEST_F(FfnWorkerTest, ATargetRunsWithTheSlotOfEachShare) {
  worker.on_plan(0, published(0, kA, {{0, 0, 1, 1}, {2, 2, 1, -1}}, {{0, 1, 1}, {1, 1, 1}, {2, 1, 1}}, 3));
  worker.on_copy_done(5, {0, 0}, true);
  worker.on_copy_done(9, {0, 1}, true);
  worker.on_rows(10, kA);
  EXPECT_EQ(recorder.slots, (Slots{1, 0, 2}));
  // The slot of a share is that of its own plan, whatever later plans make of it.
  worker.on_plan(20, published(1, kB, {}, {{0, 1, 1}}, 3));
  worker.on_plan(20, published(2, kC, {{2, 2, 1, 1}}, {{2, 1, 1}}, 3));
  worker.on_rows(30, kB);
  worker.on_ffn_done(40, kA);
  EXPECT_EQ(recorder.slots, Slots{1});
  worker.on_ffn_done(50, kB);
  worker.on_copy_started(50, {2, 0});
  worker.on_copy_done(60, {2, 0}, true);
  worker.on_rows(70, kC);
  EXPECT_EQ(recorder.slots, Slots{1});  // a regular slot before staging
}

TEST_F(FfnWorkerTest, AVirtualPlanHasNoSlots) {
  auto plan = std::make_shared<PublishedPlan>(*published(0, kA, {}, {{1, 1, 1}}, 3));
  plan->plan.is_virtual = true;
  recorder.slots = {7};
  worker.on_plan(0, plan);
  worker.on_rows(5, kA);
  EXPECT_EQ(recorder.take(), Log{"run 0:1:0 1 of 1"});
  EXPECT_EQ(recorder.slots, Slots{});
}

using Experts = std::vector<int>;

// Slots: worker 1's own expert, the free one, staging.
TEST_F(FfnWorkerTest, TheInventoryTellsOnlyWhatIsWhole) {
  EXPECT_EQ(worker.inventory(1), (Experts{1, kNoExpert, kNoExpert}));
  EXPECT_EQ(worker.inventory(2), Experts{});
  worker.on_plan(0, published(0, kA, {{0, 0, 1, 1}}, {}, 3));
  EXPECT_EQ(worker.inventory(1), (Experts{1, kNoExpert, kNoExpert}));
  worker.on_copy_started(0, {0, 0});
  worker.on_copy_done(250, {0, 0}, true);
  EXPECT_EQ(worker.inventory(1), (Experts{1, 0, kNoExpert}));
  // A copy over it that has not begun leaves it whole; one that has begun does not.
  worker.on_plan(300, published(1, kB, {{2, 2, 1, 1}}, {}, 3));
  EXPECT_EQ(worker.inventory(1), (Experts{1, 0, kNoExpert}));
  worker.on_rows(300, kA);
  worker.on_ffn_done(310, kA);
  worker.on_copy_started(310, {1, 0});
  EXPECT_EQ(worker.inventory(1), (Experts{1, kNoExpert, kNoExpert}));
}

TEST_F(FfnWorkerTest, ANewEpochDropsEverythingUnfinished) {
  worker.on_plan(0, published(0, kA, {{0, 0, 1, 1}}, {{0, 1, 1}}, 3));
  worker.on_plan(0, published(1, kB, {}, {{1, 1, 1}}, 3));
  worker.on_rows(5, kA);
  worker.on_rows(6, kB);
  recorder.take();
  worker.on_epoch(0);
  worker.set_placement(1, LayerPlacement::initial(3, 3, 1));
  worker.on_plan(50, published(0, kA, {}, {{1, 1, 1}}, 3));
  EXPECT_EQ(recorder.take(), Log{});  // its rows are sent again
  worker.on_rows(60, kA);
  EXPECT_EQ(recorder.take(), Log{"run 0:1:0 1 of 1"});
  EXPECT_NE(error_of([&] { worker.on_copy_done(70, {0, 0}, true); }, ErrorKind::internal), "no error");
}

TEST_F(FfnWorkerTest, ATargetWaitsForTheExpertThatIsReadAgain) {
  LayerPlacement placement = LayerPlacement::initial(3, 3, 1);
  placement.set(1, 1, 0);
  worker.on_epoch(0);
  worker.set_placement(1, placement);
  worker.on_reload(1, 1, {-2, 0});
  EXPECT_EQ(worker.inventory(1), (Experts{1, kNoExpert, kNoExpert}));
  worker.on_plan(0, published(0, kA, {{0, 1, 2, 1}}, {{0, 1, 1}}, 3));
  worker.on_rows(10, kA);
  EXPECT_EQ(recorder.take(), Log{"post 0.0 out"});
  worker.on_copy_done(500, {-2, 0}, true);
  EXPECT_EQ(recorder.take(), (Log{"release 0.0 out", "run 0:1:0 1 of 1"}));
  EXPECT_EQ(worker.inventory(1), (Experts{1, 0, kNoExpert}));
  worker.on_ffn_done(600, kA);
  expect_times(100, 10, 500, 490, 0);
}

struct WithoutOverlap : FfnWorkerTest {
  WithoutOverlap() : FfnWorkerTest(false) {}
};

TEST_F(WithoutOverlap, CopiesStartWhenTheWorkerIsFreeForTheirTarget) {
  worker.on_plan(100, published(0, kA, {}, {{1, 1, 1}}, 3));
  worker.on_plan(110, published(1, kB, {{0, 0, 1, 1}}, {{0, 1, 1}}, 3));
  worker.on_rows(150, kA);
  worker.on_rows(160, kB);
  EXPECT_EQ(recorder.take(), Log{"run 0:1:0 1 of 1"});
  worker.on_ffn_done(300, kA);
  EXPECT_EQ(recorder.take(), (Log{"send 0:1:0", "post 1.0 in", "release 1.0 in"}));
  worker.on_copy_started(300, {1, 0});
  worker.on_copy_done(550, {1, 0}, true);
  worker.on_ffn_done(655, kB);
  expect_times(105, 0, 250, 250, 0);
}

}  // namespace
}  // namespace afore::pipeline
