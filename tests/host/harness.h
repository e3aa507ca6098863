#pragma once
// Streams, shapes and runs of the simulated pipeline for the tests of this room.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "host/sim_host.h"

namespace afore::host {

struct Draw {  // the same numbers everywhere
  std::uint64_t state;
  std::int64_t operator()(std::int64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::int64_t>((state >> 33) % static_cast<std::uint64_t>(below));
  }
};

struct Shape {
  SimOptions sim;
  pipeline::PlannerOptions planner;
  std::string text() const {
    const ClusterSpec& c = sim.cluster;
    return planner.policy + " " + to_string(planner.limits.objective) + ", " + std::to_string(c.attention_workers) +
           ":" + std::to_string(c.ffn_workers) + " workers, " + std::to_string(sim.model.experts) + " experts, " +
           std::to_string(c.redundant_slots) + " slots, " + std::to_string(c.microbatches) + " microbatches" +
           (sim.overlap ? "" : ", no overlap") + (sim.shared_chunk_bytes < 0 ? "" : ", shared links");
  }
};

// Times of tens of microseconds with every part of the pipeline in the same order of size.
inline Shape random_shape(Draw& draw, int max_workers = 6, int max_experts = 8) {
  Shape s;
  s.sim.model.experts = 1 + draw(max_experts);
  s.sim.model.top_k = 1 + draw(std::min<std::int64_t>(3, s.sim.model.experts));
  s.sim.cluster = {.attention_workers = 1 + draw(max_workers),
                   .ffn_workers = 1 + draw(max_workers),
                   .redundant_slots = draw(4),
                   .tile_tokens = 1 + draw(64),
                   .microbatches = 1 + draw(4)};
  s.sim.layer_cost = {.c0_ns = draw(20'000),
                      .c1_ns = 1 + draw(5'000),
                      .c2_ns = draw(5'000),
                      .tile_tokens = s.sim.cluster.tile_tokens,
                      .expert_bytes = 1'000,
                      .copy_ns = draw(100'000)};
  PipelineCost& p = s.sim.pipeline_cost;
  p.attention_c0_ns = draw(30'000);
  p.attention_ns_per_token = static_cast<double>(draw(200));
  p.link_ns_per_byte = 0.25 * static_cast<double>(draw(8));
  p.link_latency_ns = draw(10'000);
  p.activation_bytes = draw(200);
  p.control_latency_ns = draw(8'000);
  p.scheduler_ns = draw(15'000);
  p.sampling_ns = draw(30'000);
  s.sim.overlap = draw(4) > 0;
  s.planner.overlap = s.sim.overlap;
  s.planner.limits.copy_budget = draw(2 * s.sim.cluster.ffn_workers + 1);
  s.planner.limits.gain_rule = draw(3) == 0;
  s.planner.limits.objective = draw(2) ? Objective::time : Objective::tiles;
  if (draw(2)) s.planner.window_ns = draw(200'000);
  if (draw(3) == 0) s.sim.shared_chunk_bytes = draw(1'200);
  return s;
}

inline Demand random_demand(Draw& draw, const Shape& s, Target target) {
  Demand d;
  d.target = target;
  d.counts.assign(s.sim.model.experts, 0);
  const std::int64_t hot = draw(s.sim.model.experts);
  for (std::int64_t pair = draw(400); pair > 0; --pair)
    d.counts[draw(3) ? hot : draw(s.sim.model.experts)] += s.sim.model.top_k;
  for (const std::int64_t count : d.counts) d.tokens += count;
  d.tokens /= s.sim.model.top_k;
  return d;
}

// Steps as streams have them; `ragged`: microbatches are absent from some steps, some steps have fewer layers.
inline std::vector<Demand> random_stream(Draw& draw, const Shape& s, int steps, int layers, bool ragged) {
  std::vector<Demand> stream;
  for (int step = 0; step < steps; ++step) {
    std::vector<bool> present(s.sim.cluster.microbatches, true);
    if (ragged)
      for (std::size_t mb = 0; mb < present.size(); ++mb) present[mb] = draw(4) > 0;
    const int depth = ragged && draw(4) == 0 ? static_cast<int>(1 + draw(layers)) : layers;
    for (int layer = 1; layer <= depth; ++layer)
      for (int mb = 0; mb < s.sim.cluster.microbatches; ++mb)
        if (present[mb]) stream.push_back(random_demand(draw, s, {step, layer, mb}));
  }
  return stream;
}

struct Result {
  std::vector<Observed> observed;
  std::vector<Operation> operations;
  std::vector<Plan> plans;
  Summary summary;
  Nanos first_step_ns = 0;
  std::size_t observed_before_end = 0;
};

inline Result simulate(const Shape& s, const std::vector<Demand>& stream, std::size_t targets, bool timeline = false) {
  Result result;
  const auto plans =
      pipeline::live_plans(s.sim.model, s.sim.cluster, s.sim.layer_cost, s.planner,
                           [&](const pipeline::PlannedTarget& planned) { result.plans.push_back(planned.plan); });
  SimSink sink;
  sink.observed = [&](const Observed& observed) { result.observed.push_back(observed); };
  if (timeline) sink.operation = [&](const Operation& operation) { result.operations.push_back(operation); };
  SimHost host(s.sim, *plans, std::move(sink));
  for (std::size_t i = 0; i < targets; ++i) host.push(stream[i], nullptr, {});
  result.observed_before_end = result.observed.size();
  host.finish();
  result.summary = host.summary();
  result.first_step_ns = host.metrics().first_step_ns();
  return result;
}

inline Result simulate(const Shape& s, const std::vector<Demand>& stream, bool timeline = false) {
  return simulate(s, stream, stream.size(), timeline);
}

inline std::string text(const Observed& o) {
  return std::to_string(o.target.step) + ":" + std::to_string(o.target.layer) + ":" +
         std::to_string(o.target.microbatch) + " seq " + std::to_string(o.seq) + " ffn " + std::to_string(o.ffn_ns) +
         " migration " + std::to_string(o.migration_ns) + " window " + std::to_string(o.window_ns) + " exposed " +
         std::to_string(o.exposed_ns) + " slack " + std::to_string(o.slack_ns) + " slot wait " +
         std::to_string(o.slot_wait_ns);
}

}  // namespace afore::host
