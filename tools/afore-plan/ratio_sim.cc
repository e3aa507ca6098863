// One shape of cluster through the simulator, under a demand that is the same in every step.
#include "advice/mean_demand.h"
#include "afore-plan/ratio.h"
#include "host/sim_host.h"
#include "pipeline/plan_source.h"

namespace afore::plan {
namespace {

// The pipeline fills in the first step; the cycle of the others repeats.
constexpr int kWarmupSteps = 2, kSteps = 4;

host::SimOptions options_of(const RatioCase& question, std::int64_t attention_workers, std::int64_t microbatches) {
  host::SimOptions options;
  options.model = question.setup.model;
  options.cluster = question.setup.cluster;
  options.cluster.attention_workers = attention_workers;
  options.cluster.microbatches = microbatches;
  options.cluster.redundant_slots = 0;
  options.layer_cost = question.setup.cost;
  options.pipeline_cost = pipeline_cost(question.setup.profile, question.setup.sized);
  return options;
}

}  // namespace

RatioPoint simulate_ratio(const RatioCase& question, std::int64_t attention_workers, std::int64_t microbatches) {
  const host::SimOptions options = options_of(question, attention_workers, microbatches);
  const std::vector<int>& layers = options.model.moe_layers;
  pipeline::EmbeddedPlans plans(options.model, options.cluster, options.layer_cost);
  host::SimHost host(options, plans, {});

  Demand demand;
  demand.tokens = attention_workers * question.sizes.batch;
  Batch batch;
  batch.sequences = demand.tokens;
  batch.kv_tokens = demand.tokens * question.sizes.context_tokens;
  std::vector<std::vector<std::int64_t>> counts(layers.size());
  for (std::size_t l = 0; l < layers.size(); ++l)
    advice::apportion(question.shares[l], demand.tokens, question.sizes.top_k, counts[l]);
  for (std::int64_t step = 0; step < kWarmupSteps + kSteps; ++step) {
    demand.phase = step < kWarmupSteps ? Phase::warmup : Phase::decode;
    batch.step = step;
    for (std::size_t l = 0; l < layers.size(); ++l) {
      demand.counts = counts[l];
      for (int m = 0; m < microbatches; ++m) {
        demand.target = {step, layers[l], m};
        batch.microbatch = m;
        plans.push(demand, nullptr);
        host.push(demand, &batch, {});
      }
    }
  }
  host.finish();

  const Summary summary = host.summary();
  const auto layer_count = static_cast<std::int64_t>(layers.size());
  const advice::Stages stages = advice::stages(question.coefficients, attention_workers);
  RatioPoint point;
  point.attention_workers = attention_workers;
  point.microbatches = microbatches;
  const double cycle_ns = advice::cycle_ns(stages, microbatches);
  point.predicted_step_ns = cycle_ns * static_cast<double>(layer_count);
  point.pipe_step_ns = advice::pipe_ns(stages, microbatches, layer_count) * static_cast<double>(layer_count);
  point.simulated_step_ns = summary.step_ns.value_or(0);
  point.simulated_ffn_ns = summary.ffn_ns.value_or(0);
  const double tokens = static_cast<double>(demand.tokens * microbatches) * 1e9;
  const double workers = static_cast<double>(attention_workers + question.sizes.ffn_workers);
  point.predicted_tokens_per_worker_s = tokens / point.predicted_step_ns / workers;
  if (point.simulated_step_ns > 0) point.simulated_tokens_per_worker_s = tokens / point.simulated_step_ns / workers;
  return point;
}

}  // namespace afore::plan
