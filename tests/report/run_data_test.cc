#include "report/run_data.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "report/run_pictures.h"
#include "util/error.h"

namespace afore::report {
namespace {

Header header() {
  Header h;
  h.model.experts = 4;
  h.model.top_k = 1;
  h.model.moe_layers = {0, 1};
  h.cluster.ffn_workers = 2;
  h.cluster.tile_tokens = 2;
  return h;
}

Demand demand(std::int64_t step, std::vector<std::int64_t> counts, Phase phase = Phase::decode) {
  Demand d;
  d.target = {step, 0, 0};
  d.phase = phase;
  for (const std::int64_t n : counts) d.tokens += n;
  d.counts = std::move(counts);
  return d;
}

Plan plan(std::int64_t step, std::vector<std::int64_t> tile_load, std::size_t copies) {
  Plan p;
  p.target = {step, 0, 0};
  p.tile_load = std::move(tile_load);
  p.copies.resize(copies);
  return p;
}

Operation sampling(std::int64_t step, int worker, Nanos end) {
  return {worker == 0 ? "A0" : "A1", "compute", "sampling", {step, 1, 0}, end - 10, end};
}

TEST(RunData, LoadsBeforeAndAfterThePlan) {
  RunData data;
  data.add(header());
  data.add(demand(0, {9, 9, 9, 9}, Phase::warmup));
  data.add(plan(0, {10, 10}, 3));
  data.add(demand(1, {6, 1, 1, 0}));  // tiles 3 1 | 1 0
  data.add(plan(1, {2, 3}, 1));
  data.add(plan(1, {9, 9}, 2));  // again, after a worker was lost
  data.finish();
  EXPECT_EQ(data.targets, 1);
  EXPECT_EQ(data.warmup_targets, 1);
  EXPECT_EQ(data.load.before, (std::vector<std::int64_t>{4, 1}));
  EXPECT_EQ(data.load.after, (std::vector<std::int64_t>{2, 3}));
  EXPECT_DOUBLE_EQ(data.load.target_imbalance_before, 1.6);
  EXPECT_DOUBLE_EQ(data.load.target_imbalance_after, 1.2);
  ASSERT_EQ(data.planned.size(), 1u);
  EXPECT_EQ(data.planned[0].copies, 3);
  EXPECT_EQ(data.planned[0].targets, 1);
}

TEST(RunData, ALayersFirstMapSaysWhereItBegins) {
  RunData data;
  data.add(header());
  data.add(demand(1, {6, 1, 1, 0}));
  data.add(PlacementRecord{0, 2, {3, 1, 0, 2}});
  data.add(PlacementRecord{0, 2, {0, 1, 2, 3}});  // later maps are what plans made
  data.add(plan(1, {2, 3}, 0));
  data.finish();
  EXPECT_EQ(data.load.before, (std::vector<std::int64_t>{1, 4}));
}

TEST(RunData, GapsBetweenStepsAreWeightedByTheirTokens) {
  RunData data;
  data.add(header());
  const auto step = [&](std::int64_t number, Phase phase, std::vector<std::string> admitted,
                        std::vector<std::string> finished, Nanos end) {
    Batch batch;
    batch.step = number;
    batch.sequences = 8;
    batch.prefill_tokens = 2;
    batch.admitted = std::move(admitted);
    batch.finished = std::move(finished);
    data.add(batch);
    data.add(demand(number, {6, 2, 0, 0}, phase));
    data.add(sampling(number, 0, end - 50));
    data.add(sampling(number, 1, end));  // the last of the attention workers
  };
  step(0, Phase::warmup, {}, {}, 1000);
  step(1, Phase::decode, {"a"}, {}, 1300);
  step(2, Phase::decode, {}, {}, 1500);
  step(3, Phase::decode, {}, {"a"}, 1900);
  data.finish();
  EXPECT_EQ(data.itl.values(), (std::vector<std::pair<std::int64_t, std::int64_t>>{{200, 6}, {300, 6}, {400, 6}}));
  EXPECT_EQ(data.tpot.values(), (std::vector<std::pair<std::int64_t, std::int64_t>>{{300, 1}}));
}

TEST(RunData, CompletionsCountWhereTheirTimesAreOfAClock) {
  Completion completion;
  completion.output_tokens = 3;
  completion.finish_reason = "length";
  completion.times = CompletionTimes{100, 300, 900};
  Completion rejected = completion;
  rejected.finish_reason = "rejected";
  for (const char* source : {"requests", "recorded"}) {
    RunData data;
    Header h = header();
    h.source = source;
    data.add(h);
    data.add(completion);
    data.add(rejected);
    data.finish();
    EXPECT_EQ(data.ttft.samples(), h.source == "requests" ? 1 : 0);
    if (data.ttft.empty()) continue;
    EXPECT_EQ(data.ttft.percentile(1), 200);
    EXPECT_EQ(data.tpot.percentile(1), 300);
  }
}

TEST(RunData, OnlyTheLayersAskedFor) {
  RunOptions options;
  options.layers = {1};
  RunData data(options);
  data.add(header());
  data.add(demand(1, {6, 1, 1, 0}));  // layer 0
  data.finish();
  EXPECT_TRUE(data.expert_loads.layers.empty());
  for (const View view : {View::heatmap, View::load, View::imbalance})
    EXPECT_NE(missing(data, view).find("none of the layers asked for"), std::string::npos);
}

TEST(RunData, LoadsBeyondWhatIsCountedAreRefused) {
  RunData data;
  data.add(header());
  const auto add = [&] {
    for (std::int64_t step = 1; step <= 1'100; ++step) data.add(demand(step, {std::int64_t{1} << 52, 0, 0, 0}));
  };
  try {
    add();
    FAIL() << "2^52 * 1100 is over 2^60";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::data);
    EXPECT_NE(std::string(error.what()).find("layer 0"), std::string::npos) << error.what();
  }
}

TEST(RunData, StepsAreInOrderWhateverTheStreamDoes) {
  RunData data;
  data.add(header());
  for (const std::int64_t step : {5, 3, 9, 3}) {
    data.add(demand(step, {4, 0, 0, 0}));
    data.add(plan(step, {1, 1}, 1));
  }
  data.finish();
  for (const auto* steps : {&data.before, &data.planned}) {
    std::vector<std::int64_t> numbers;
    for (const StepSums& sums : *steps) numbers.push_back(sums.step);
    EXPECT_EQ(numbers, (std::vector<std::int64_t>{3, 5, 9}));
    EXPECT_EQ(steps->front().targets, 2);
  }
}

TEST(RunPage, AnInterruptedRunSaysSo) {
  for (const bool interrupted : {false, true}) {
    RunData data;
    data.add(header());
    data.add(demand(1, {6, 1, 1, 0}));
    Summary summary;
    summary.interrupted = interrupted;
    data.add(summary);
    data.finish();
    EXPECT_EQ(run_page(data, kViews, {}).find("(interrupted)") != std::string::npos, interrupted);
  }
}

Operation operation(std::int64_t step, const char* lane, Nanos start) {
  return {"F0", lane, std::string(lane) == "copy" ? "copy_expert" : "expert_ffn", {step, 0, 0}, start, start + 10};
}

TEST(TimelinePicker, TakesTheMeasuredStepWithMostCopiesAndItsNeighbours) {
  TimelinePicker picker;
  picker.warm_until(0);
  for (std::int64_t step = 0; step < 12; ++step) {
    const std::int64_t copies = step == 0 ? 9 : step == 4 || step == 7 ? 2 : 0;
    picker.add(*slice_of(operation(step, "compute", step * 100)));
    picker.add(*slice_of(operation(step, "compute", step * 100 + 95)));
    for (std::int64_t c = 0; c < copies; ++c) picker.add(*slice_of(operation(step, "copy", step * 100 + 20 * c)));
  }
  const Timeline t = picker.finish();
  EXPECT_EQ(t.step, 4);
  EXPECT_EQ(t.from_ns, 400);
  EXPECT_EQ(t.to_ns, 505);
  std::vector<std::int64_t> steps;
  for (const Slice& s : t.slices) steps.push_back(s.step);
  EXPECT_EQ(steps, (std::vector<std::int64_t>{3, 4, 4, 4, 4, 5})) << "of the neighbours what is in its time";
}

TEST(TimelinePicker, TakesTheStepAskedForAndSaysWhenThereIsNone) {
  for (const std::int64_t wanted : {0, 11, 12}) {
    TimelinePicker picker(wanted);
    for (std::int64_t step = 0; step < 12; ++step) picker.add(*slice_of(operation(step, "compute", step * 100)));
    EXPECT_EQ(picker.finish().step, wanted < 12 ? wanted : -1);
    EXPECT_TRUE(picker.any());
  }
}

TEST(TimelinePicker, LargeStepsAreThinnedToSomeWorkersAndAllCopies) {
  TimelinePicker picker;
  for (int worker = 0; worker < 64; ++worker)
    for (int i = 0; i < 10'000; ++i) {
      Operation o = operation(0, worker == 33 && i == 0 ? "copy" : "compute", i * 10);
      o.worker = fmt::format("F{}", worker);
      picker.add(*slice_of(o));
    }
  const Timeline t = picker.finish();
  EXPECT_LE(t.slices.size(), std::size_t{1} << 18);
  EXPECT_GT(t.slices.size(), std::size_t{1} << 16);
  EXPECT_EQ(t.ffn_workers, 64);
  std::size_t copies = 0, odd = 0;
  for (const Slice& s : t.slices) (s.lane == Lane::copy ? copies : odd) += s.lane == Lane::copy || s.worker % 2 == 1;
  EXPECT_EQ(copies, 1u);
  EXPECT_EQ(odd, 0u);
}

TEST(TimelinePicker, StepsOfOneWorkerOrOfCopiesAloneAreCut) {
  constexpr int kMost = 1 << 18;
  for (const char* lane : {"compute", "copy"}) {
    TimelinePicker picker;
    Slice slice = *slice_of({"A0", lane, "attention", {0, 0, 0}, 0, 10});
    for (int i = 0; i < kMost + 60; ++i, ++slice.start_ns, ++slice.end_ns) picker.add(slice);
    Slice last = *slice_of({"A1", "compute", "attention", {0, 0, 0}, 5, 6});
    picker.add(last);
    const Timeline t = picker.finish();
    const bool copies = slice.lane == Lane::copy;
    EXPECT_EQ(t.slices.size(), static_cast<std::size_t>(kMost + (copies ? 1 : 0))) << lane;
    EXPECT_EQ(t.attention_workers, 2);
  }
}

TEST(SliceOf, KnowsWorkersAndLanes) {
  EXPECT_FALSE(slice_of({"X0", "compute", "attention", {}, 0, 1}));
  EXPECT_FALSE(slice_of({"F", "compute", "attention", {}, 0, 1}));
  EXPECT_FALSE(slice_of({"F1x", "compute", "attention", {}, 0, 1}));
  EXPECT_FALSE(slice_of({"F1", "elsewhere", "attention", {}, 0, 1}));
  const auto slice = slice_of({"F12", "f2a", "send", {}, 3, 7});
  ASSERT_TRUE(slice);
  EXPECT_EQ(slice->worker, 12);
  EXPECT_EQ(slice->work, Work::link);
}

}  // namespace
}  // namespace afore::report
