#include "host/closed_loop.h"

#include <set>

#include "load.h"
#include "util/error.h"

namespace afore::host {
namespace {

const StopFlag kNoSignal{0};

struct Served {
  std::vector<Completion> completions;
  std::vector<Demand> demands;
  std::vector<Batch> batches;
  std::int64_t plans = 0, observed = 0;
  Summary summary;
};

Served serve(const ClosedLoopOptions& options, const std::vector<IncomingRequest>& requests,
             const StopFlag* stop = &kNoSignal) {
  Served result;
  ClosedLoopSink sink;
  sink.planned = [&](const Batch* batch, const Demand& demand, const pipeline::PlannedTarget&) {
    if (batch != nullptr) result.batches.push_back(*batch);
    result.demands.push_back(demand);
    ++result.plans;
  };
  sink.observed = [&](const Observed&) { ++result.observed; };
  sink.completion = [&](const Completion& completion) { result.completions.push_back(completion); };
  ClosedLoop loop(options, std::move(sink));
  FiniteRequests source = feed(requests);
  loop.run(source, stop);
  result.summary = loop.summary();
  return result;
}

// Two layers, two experts, top-1, one worker on each side.
ClosedLoopOptions plain() {
  ClosedLoopOptions options;
  options.sim.model.experts = 2;
  options.sim.model.top_k = 1;
  options.sim.model.moe_layers = {1, 3};
  options.sim.cluster = {1, 1, 0, 4, 1};
  options.sim.layer_cost = {
      .c0_ns = 100, .c1_ns = 1'000, .c2_ns = 10, .tile_tokens = 4, .expert_bytes = 8, .copy_ns = 5};
  PipelineCost& p = options.sim.pipeline_cost;
  p.attention_c0_ns = 700;
  p.attention_ns_per_token = 20;
  p.kv_ns_per_token = 3;
  p.link_latency_ns = 400;
  p.link_ns_per_byte = 0.5;
  p.activation_bytes = 16;
  p.control_latency_ns = 50;
  p.scheduler_ns = 60;
  p.sampling_ns = 90;
  options.planner.policy = "static";
  return options;
}

// One request alone takes the sum of its parts. Rows of the sequence: layer 1 chooses 0 1 0, layer 3 always 1.
TEST(ClosedLoop, OneRequestTakesTheSumOfItsParts) {
  const auto sequence = make_sequence(3, {0, 1, 1, 1, 0, 1});
  const Served result = serve(plain(), {request("a", 5'000, 5, 3, sequence, 1)});
  // Prompt: rows 1 2 0 1 2; layer 1: experts 1 0 0 1 0 = 3 and 2 tokens, a tile each; layer 3: 5 tokens of expert 1.
  const Nanos attention = 700 + 5 * 20;
  const Nanos rows_there = 400 + 5 * 16 / 2, back = rows_there;  // beyond the plan's 50 + 60 + 50
  const Nanos prompt = 2 * (attention + rows_there + back) + (100 + 2 * 1'000 + 2 * 10) + (100 + 2 * 1'000 + 10) + 90;
  // A decode step reads its cached tokens: memory before arithmetic, 5 and 6 of them.
  const auto decode = [](Nanos cached) {
    return 2 * (700 + std::max<Nanos>(20, 3 * cached) + 2 * (400 + 8) + 100 + 1'000 + 10) + 90;
  };
  ASSERT_EQ(result.completions.size(), 1u);
  const Completion& done = result.completions[0];
  EXPECT_EQ(done.finish_reason, "length");
  EXPECT_EQ(done.output_tokens, 3);
  EXPECT_EQ(done.times->arrival_ns, 5'000);
  EXPECT_EQ(*done.times->first_token_ns, 5'000 + prompt);
  EXPECT_EQ(done.times->finished_ns, 5'000 + prompt + decode(5) + decode(6));
  EXPECT_DOUBLE_EQ(*result.summary.ttft.mean, static_cast<double>(prompt) / 1e6);
  EXPECT_DOUBLE_EQ(*result.summary.tpot.mean, static_cast<double>(decode(5) + decode(6)) / 2e6);
  ASSERT_EQ(result.demands.size(), 6u);  // three steps of two layers
  EXPECT_EQ(result.demands[0].counts, (std::vector<std::int64_t>{3, 2}));
  EXPECT_EQ(result.demands[1].counts, (std::vector<std::int64_t>{0, 5}));
  EXPECT_EQ(result.demands[1].target, (Target{0, 3, 0}));
  EXPECT_EQ(result.demands[2].counts, (std::vector<std::int64_t>{1, 0}));  // token 5: row (1 + 5) mod 3 = 0
  EXPECT_EQ(result.demands[4].counts, (std::vector<std::int64_t>{0, 1}));  // token 6: row 1
  EXPECT_EQ(result.demands[0].phase, Phase::prefill);
  EXPECT_EQ(result.demands[2].phase, Phase::decode);
  EXPECT_EQ(result.batches[0].admitted, std::vector<std::string>{"a"});
  EXPECT_EQ(result.batches[2].finished, std::vector<std::string>{"a"});
  EXPECT_EQ(result.batches[2].kv_tokens, 6);
}

TEST(ClosedLoop, NoRequests) {
  const Served result = serve(plain(), {});
  EXPECT_EQ(result.summary.injected, 0);
  EXPECT_TRUE(result.demands.empty());
  EXPECT_FALSE(result.summary.duration);
}

TEST(ClosedLoop, WhatCanNeverRunIsRejectedWithItsReason) {
  ClosedLoopOptions options = plain();
  options.serving.kv_budget_tokens = 32;
  const auto sequence = make_sequence(1, {0, 0});
  const Served result = serve(options, {request("big", 7, 30, 3, sequence), request("fits", 7, 30, 2, sequence)});
  ASSERT_EQ(result.completions.size(), 2u);
  EXPECT_EQ(result.completions[0].id, "big");
  EXPECT_EQ(result.completions[0].finish_reason, "rejected");
  EXPECT_EQ(result.completions[0].reject_reason, "kv_budget");
  EXPECT_FALSE(result.completions[0].times->first_token_ns);
  EXPECT_EQ(result.completions[1].finish_reason, "length");
  EXPECT_EQ(result.summary.rejected, 1);
  EXPECT_EQ(result.summary.saturation, "STABLE");  // no load could have changed it
}

TEST(ClosedLoop, EndsAtTheGivenTime) {
  ClosedLoopOptions options = plain();
  options.serving.max_num_seqs = 1;
  options.end_ns = 100'000;
  const auto sequence = make_sequence(1, {0, 0});
  const Served result =
      serve(options, {request("long", 0, 1, 10'000, sequence), request("waits", 10, 1, 1, sequence),
                      request("at the end", 100'000, 1, 1, sequence), request("after", 100'001, 1, 1, sequence)});
  EXPECT_EQ(result.summary.injected, 3);
  EXPECT_EQ(result.summary.running, 1);
  EXPECT_EQ(result.summary.queued, 2);
  EXPECT_EQ(result.summary.completed, 0);
  EXPECT_DOUBLE_EQ(*result.summary.duration, 1e-4);
  EXPECT_EQ(result.plans, result.observed);  // what was begun is whole
}

TEST(ClosedLoop, AnEndAfterTheLastRequestChangesNothing) {
  ClosedLoopOptions options = plain();
  const auto sequence = make_sequence(1, {0, 0});
  const std::vector<IncomingRequest> requests = {request("a", 0, 3, 3, sequence)};
  const Served whole = serve(options, requests);
  options.end_ns = 1'000'000'000;
  EXPECT_EQ(serve(options, requests).summary.duration, whole.summary.duration);
}

TEST(ClosedLoop, ASignalEndsItBetweenSteps) {
  StopFlag stop{0};
  ClosedLoopOptions options = plain();
  const auto sequence = make_sequence(1, {0, 0});
  std::int64_t observed = 0, plans = 0;
  ClosedLoopSink sink;
  sink.planned = [&](const Batch*, const Demand&, const pipeline::PlannedTarget&) {
    if (++plans == 20) stop = 2;
  };
  sink.observed = [&](const Observed&) { ++observed; };
  ClosedLoop loop(options, std::move(sink));
  bool given = false;
  FiniteRequests source([&](IncomingRequest& incoming) {
    incoming = request("a", 0, 1, 1'000, sequence);
    return !std::exchange(given, true);
  });
  EXPECT_TRUE(loop.run(source, &stop));
  EXPECT_EQ(loop.summary().running, 1);
  EXPECT_EQ(observed, plans);
  EXPECT_LT(plans, 25);
}

TEST(ClosedLoop, NothingIsLostOrCountedTwice) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Draw draw{seed};
    const Load load = random_load(draw);
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Served result = serve(load.options, load.requests);
    const Summary& s = result.summary;
    EXPECT_EQ(*s.injected, *s.completed + *s.queued + *s.running + *s.rejected + *s.timed_out);
    EXPECT_EQ(*s.failed, *s.rejected + *s.timed_out);
    if (!load.options.end_ns) {
      EXPECT_EQ(*s.injected, static_cast<std::int64_t>(load.requests.size()));
      EXPECT_EQ(*s.queued + *s.running, 0);
    }
    EXPECT_EQ(result.plans, result.observed);
    EXPECT_EQ(static_cast<std::int64_t>(result.completions.size()), *s.completed + *s.rejected + *s.timed_out);
    std::set<std::string> ids;
    std::int64_t sampled = 0;
    for (const Completion& done : result.completions) {
      EXPECT_TRUE(ids.insert(done.id).second) << done.id << " ended twice";
      const RequestRecord& asked = load.requests[std::stoul(done.id)].record;
      EXPECT_EQ(done.times->arrival_ns, asked.arrival_ns);
      EXPECT_GE(done.times->finished_ns, asked.arrival_ns);
      if (done.finish_reason == "length") {
        EXPECT_EQ(done.output_tokens, asked.output_tokens);
        EXPECT_LE(*done.times->first_token_ns, done.times->finished_ns);
        sampled += done.output_tokens;
      }
    }
    EXPECT_EQ(*s.total_output_tokens, sampled);
    for (const Demand& demand : result.demands) {
      std::int64_t sum = 0;
      for (const std::int64_t count : demand.counts) sum += count;
      EXPECT_EQ(sum, demand.tokens * load.options.sim.model.top_k);
      EXPECT_LE(demand.tokens, load.options.serving.max_num_batched_tokens);
    }
  }
}

// Requests are taken from the stream as time needs them.
TEST(ClosedLoop, ReadsOneRequestAhead) {
  const auto sequence = make_sequence(1, {0, 0});
  std::int64_t read = 0;
  std::vector<std::int64_t> read_at_completion;
  ClosedLoopSink sink;
  sink.completion = [&](const Completion&) { read_at_completion.push_back(read); };
  ClosedLoop loop(plain(), std::move(sink));
  FiniteRequests source([&](IncomingRequest& incoming) {
    if (read == 3) return false;
    incoming = request(std::to_string(read), read * 1'000'000, 1, 1, sequence);
    ++read;
    return true;
  });
  loop.run(source, &kNoSignal);
  EXPECT_EQ(read_at_completion, (std::vector<std::int64_t>{2, 3, 3}));
}

}  // namespace
}  // namespace afore::host
