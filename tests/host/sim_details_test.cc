// Corners of the simulated host that random runs do not reach.
#include <map>

#include "harness.h"

namespace afore::host {
namespace {

Shape shape(int attention, int ffn, int microbatches) {
  Shape s;
  s.sim.model.experts = 4;
  s.sim.model.top_k = 1;
  s.sim.cluster = {.attention_workers = attention,
                   .ffn_workers = ffn,
                   .redundant_slots = 1,
                   .tile_tokens = 4,
                   .microbatches = microbatches};
  s.sim.layer_cost = {.c0_ns = 1'000, .c1_ns = 100, .c2_ns = 10, .tile_tokens = 4, .copy_ns = 500};
  s.planner.policy = "static";
  return s;
}

Demand uniform(Target target, std::int64_t per_expert) {
  Demand d;
  d.target = target;
  d.counts.assign(4, per_expert);
  d.tokens = 4 * per_expert;
  return d;
}

// Plans are published much faster than they travel: more than the ring holds would be under way.
TEST(SimDetails, AFullPlanRingMakesTheSchedulerWait) {
  constexpr int kMicrobatches = 100;
  Shape s = shape(2, 3, kMicrobatches);
  s.sim.pipeline_cost.control_latency_ns = 1'000'000;
  s.sim.pipeline_cost.scheduler_ns = 1;
  std::vector<Demand> stream;
  for (int step = 0; step < 2; ++step)
    for (int layer = 1; layer <= 2; ++layer)
      for (int mb = 0; mb < kMicrobatches; ++mb) stream.push_back(uniform({step, layer, mb}, 4));
  const Result result = simulate(s, stream);
  EXPECT_EQ(result.observed.size(), stream.size());
  // A demand and a plan travel 1 ms each; the plans that found no room leave when the first ones arrive.
  Nanos first = 0;
  for (const Operation& o : simulate(s, stream, true).operations)
    if (o.op == "expert_ffn" && o.target == Target{0, 1, 64}) first = std::max(first, o.start_ns);
  EXPECT_GE(first, 3'000'000);
}

TEST(SimDetails, AttentionWorkersTakeTheSequencesTheBatchGivesThem) {
  Shape s = shape(2, 1, 1);
  s.sim.pipeline_cost.attention_ns_per_token = 1'000;
  std::map<std::string, Nanos> attention;
  const auto plans = pipeline::live_plans(s.sim.model, s.sim.cluster, s.sim.layer_cost, s.planner, [](const auto&) {});
  SimHost host(s.sim, *plans, {nullptr, [&](const Operation& o) {
                                 if (o.op == "attention") attention[o.worker] += o.end_ns - o.start_ns;
                               }});
  Batch batch;
  batch.sequences = 4;
  batch.per_attention_worker = {3, 1};
  host.push(uniform({0, 1, 0}, 1), &batch, {});
  host.push(uniform({1, 1, 0}, 1), nullptr, {});
  host.finish();
  EXPECT_EQ(attention["A0"], 3'000 + 2'000);
  EXPECT_EQ(attention["A1"], 1'000 + 2'000);
}

TEST(SimDetails, CachedTokensCostTimeFromTheBatchOrTheOption) {
  Shape s = shape(1, 1, 1);
  s.sim.pipeline_cost.kv_ns_per_token = 10;
  s.sim.kv_tokens = 100;
  std::vector<Nanos> spans;
  const auto plans = pipeline::live_plans(s.sim.model, s.sim.cluster, s.sim.layer_cost, s.planner, [](const auto&) {});
  SimHost host(s.sim, *plans, {nullptr, [&](const Operation& o) {
                                 if (o.op == "attention") spans.push_back(o.end_ns - o.start_ns);
                               }});
  Batch batch;
  batch.sequences = 4;
  batch.kv_tokens = 70;
  host.push(uniform({0, 1, 0}, 1), &batch, {});
  host.push(uniform({1, 1, 0}, 1), nullptr, {});
  host.finish();
  EXPECT_EQ(spans, (std::vector<Nanos>{700, 4 * 100 * 10}));
}

TEST(SimDetails, WithoutTargetsNothingHappens) {
  const Result result = simulate(shape(1, 1, 1), {});
  EXPECT_TRUE(result.observed.empty());
  EXPECT_EQ(result.summary.targets, 0);
}

TEST(SimDetails, OnAnIdleClusterVirtualPlansNeedNoCopies) {
  Shape s = shape(1, 2, 2);
  s.planner.policy = "ideal";
  std::vector<Demand> stream;
  for (int mb = 0; mb < 2; ++mb) {
    Demand d;
    d.target = {0, 1, mb};
    d.counts = {16, 0, 0, 0};
    d.tokens = 16;
    stream.push_back(d);
  }
  const Result result = simulate(s, stream);
  for (const Observed& o : result.observed) {
    EXPECT_EQ(o.ffn_ns, 1'000 + 2 * 100 + 10) << "four tiles on two workers";
    EXPECT_EQ(o.migration_ns, 0);
    EXPECT_EQ(o.exposed_ns, 0);
  }
  EXPECT_EQ(result.summary.copies, 0);
}

}  // namespace
}  // namespace afore::host
