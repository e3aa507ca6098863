// Attention in stream order, each microbatch after its own results; the demand leaves before the hidden states.
#include "pipeline/attention_worker.h"

#include "fixtures.h"

namespace afore::pipeline {
namespace {

class Recorder final : public AttentionWorker::Actions {
 public:
  void run_attention(int, const WorkItem& item) override { log.push_back("attention " + name(item.target)); }
  void run_sampling(int, const WorkItem& item) override { log.push_back("sampling " + name(item.target)); }
  void send_rows(int, const Target& target) override { log.push_back("rows " + name(target)); }
  void send_demand(int worker, const Target& target, std::span<const std::int64_t> counts) override {
    EXPECT_EQ(worker, 3);
    std::string text = "demand ";
    text += name(target);
    for (const std::int64_t count : counts) text.append(" ").append(std::to_string(count));
    log.push_back(text);
  }
  void item_done(int, const WorkItem& item) override {
    log.push_back((item.kind == WorkItem::Kind::sampling ? "sampled " : "done ") + name(item.target));
  }
  Log take() { return std::exchange(log, {}); }

  Log log;
};

WorkItem first(Target target) {
  WorkItem item;
  item.target = target;
  item.first_in_step = true;
  return item;
}
WorkItem after(Target target, Target previous) {
  WorkItem item;
  item.target = target;
  item.previous = previous;
  return item;
}
WorkItem sampling(Target last) {
  WorkItem item = after(last, last);
  item.kind = WorkItem::Kind::sampling;
  return item;
}

const Target kA{0, 1, 0}, kB{0, 1, 1}, kA2{0, 2, 0}, kB2{0, 2, 1};
const std::vector<std::int64_t> kCounts = {2, 0, 1};

struct AttentionWorkerTest : testing::Test {
  Recorder recorder;
  AttentionWorker worker{3, recorder};
};

TEST_F(AttentionWorkerTest, OneAtATimeInStreamOrderDemandFirst) {
  worker.on_work(first(kA));
  worker.on_work(first(kB));
  EXPECT_EQ(recorder.take(), Log{"attention 0:1:0"});
  worker.on_attention_done(kA, kCounts);
  EXPECT_EQ(recorder.take(), (Log{"demand 0:1:0 2 0 1", "rows 0:1:0", "done 0:1:0", "attention 0:1:1"}));
}

TEST_F(AttentionWorkerTest, TheNextLayerWaitsForTheResultsOfItsOwnMicrobatch) {
  worker.on_work(first(kA));
  worker.on_work(first(kB));
  worker.on_work(after(kA2, kA));
  worker.on_attention_done(kA, kCounts);
  worker.on_attention_done(kB, kCounts);
  recorder.take();
  worker.on_outputs(kB);
  EXPECT_EQ(recorder.take(), Log{});
  worker.on_outputs(kA);
  EXPECT_EQ(recorder.take(), Log{"attention 0:2:0"});
}

TEST_F(AttentionWorkerTest, ResultsThatCameEarlyCount) {
  worker.on_work(first(kA));
  worker.on_attention_done(kA, kCounts);
  worker.on_outputs(kA);
  recorder.take();
  worker.on_work(after(kA2, kA));
  EXPECT_EQ(recorder.take(), Log{"attention 0:2:0"});
}

TEST_F(AttentionWorkerTest, NothingOvertakesAnItemThatWaits) {
  worker.on_work(first(kA));
  worker.on_work(first(kB));
  worker.on_work(after(kA2, kA));
  worker.on_work(after(kB2, kB));
  worker.on_attention_done(kA, kCounts);
  worker.on_attention_done(kB, kCounts);
  worker.on_outputs(kB);  // the second microbatch could go on, but stands behind
  recorder.take();
  worker.on_outputs(kA);
  EXPECT_EQ(recorder.take(), Log{"attention 0:2:0"});
  worker.on_attention_done(kA2, kCounts);
  EXPECT_EQ(recorder.take().back(), "attention 0:2:1");
}

TEST_F(AttentionWorkerTest, SamplingFollowsTheLastResultsAndPrecedesTheNextStep) {
  worker.on_work(first(kA));
  worker.on_work(sampling(kA));
  worker.on_work(first({1, 1, 0}));
  worker.on_attention_done(kA, kCounts);
  EXPECT_EQ(recorder.take().back(), "done 0:1:0");  // neither sampling nor the next step
  worker.on_outputs(kA);
  EXPECT_EQ(recorder.take(), Log{"sampling 0:1:0"});
  worker.on_sampling_done();
  EXPECT_EQ(recorder.take(), (Log{"sampled 0:1:0", "attention 1:1:0"}));
}

TEST_F(AttentionWorkerTest, RefusesWhatItIsNotRunning) {
  EXPECT_NE(error_of([&] { worker.on_sampling_done(); }, ErrorKind::internal), "no error");
  worker.on_work(first(kA));
  EXPECT_NE(error_of([&] { worker.on_attention_done(kB, kCounts); }, ErrorKind::internal), "no error");
  EXPECT_NE(error_of([&] { worker.on_sampling_done(); }, ErrorKind::internal), "no error");
}

}  // namespace
}  // namespace afore::pipeline
