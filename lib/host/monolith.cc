#include "host/monolith.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "device/cpu/thread_pool.h"

namespace afore::host {
namespace {

constexpr Nanos kStepNs = 1'000'000;

Nanos wall_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Routing routing_of(const Target& target, const device::cpu::StepState& state, int top_k) {
  Routing routing;
  routing.target = target;
  for (std::size_t i = 0; i < state.experts.size(); i += static_cast<std::size_t>(top_k)) {
    routing.experts.emplace_back(state.experts.begin() + i, state.experts.begin() + i + top_k);
    routing.weights.emplace_back(state.weights.begin() + i, state.weights.begin() + i + top_k);
  }
  return routing;
}

}  // namespace

Monolith::Monolith(const LoadedModel& model, const MonolithOptions& options, MonolithSink sink, TextSink text)
    : ModelRunner(model, options.microbatches, kAllInOne, std::move(text)),
      options_(options),
      sink_(std::move(sink)),
      model_(model),
      moe_layers_(nn::model_spec(model.config()).moe_layers),
      rotary_(model.config().rotary_dim, model.config().rope_theta, model.config().max_positions),
      pool_(options.threads > 1 ? std::make_shared<device::cpu::ThreadPool>(options.threads) : nullptr),
      side_(device::cpu::Kernels::of(options.isa), model.weights(), rotary_,
            options.kv_budget_tokens / device::kPageTokens * options.attention_workers, device::Combine::exact, 1,
            pool_),
      experts_(device::cpu::Kernels::of(options.isa), device::cpu::expert_shape(model.config()),
               model.config().gate.top_k, pool_.get()),
      microbatches_(static_cast<std::size_t>(options.microbatches)) {
  for (const int layer : moe_layers_)
    for (int e = 0; e < model.config().gate.experts; ++e) {
      blocks_.emplace_back(device::cpu::expert_shape(model.config()).bytes());
      device::cpu::load_expert(model.model, layer, e, blocks_.back().data());
    }
  start_ns_ = wall_ns();  // when all is ready
}

Nanos Monolith::now() const { return options_.wall_clock ? wall_ns() - start_ns_ : virtual_ns_; }

void Monolith::begin_step(std::int64_t step, int microbatch, const batch::ServingStep& composed, const Batch& record,
                          Phase phase) {
  compose(step, microbatch, composed);
  Microbatch& mine = microbatches_[microbatch];
  mine.record = record;
  if (options_.routing) mine.record.rows = rows_of(mine.state);
  mine.phase = phase;
  side_.begin(mine.state);
  if (sink_)
    for (Predictor* predictor : options_.predictors) predictor->at_step(mine.state, step, microbatch, mine.predictions);
  to_gate(microbatch, moe_layers_[0]);
}

void Monolith::next_layer(int microbatch, std::size_t layer) {
  experts(microbatches_[microbatch]);
  to_gate(microbatch, moe_layers_[layer]);
}

void Monolith::to_gate(int microbatch, int layer) {
  Microbatch& mine = microbatches_[microbatch];
  side_.to_gate(mine.state, layer);
  mine.layer = layer;
  if (!sink_) return;
  Demand demand;
  demand.target = {step_of(microbatch), layer, microbatch};
  demand.phase = mine.phase;
  demand.tokens = mine.state.tokens();
  demand.counts = mine.state.counts;
  std::optional<Routing> routing;
  if (options_.routing) routing = routing_of(demand.target, mine.state, model_.config().gate.top_k);
  for (Predictor* predictor : options_.predictors) predictor->at_gate(mine.state, demand.target, mine.predictions);
  std::optional<Batch> batch;
  if (layer == moe_layers_[0]) batch = mine.record;
  const std::int64_t step = demand.target.step;
  output_.add(step, std::move(batch),
              [this, predictions = std::exchange(mine.predictions, {}), demand = std::move(demand),
               routing = std::move(routing)](const Batch* final_batch) {
                sink_(final_batch, predictions, demand, routing ? &*routing : nullptr);
              });
}

void Monolith::experts(Microbatch& mine) {
  const int experts = model_.config().gate.experts;
  const std::size_t ordinal = static_cast<std::size_t>(
      std::lower_bound(moe_layers_.begin(), moe_layers_.end(), mine.layer) - moe_layers_.begin());
  shares_.clear();
  for (int e = 0; e < experts; ++e)
    if (mine.state.counts[e] > 0)
      shares_.push_back({e, 0, mine.state.counts[e], blocks_[ordinal * static_cast<std::size_t>(experts) + e].data()});
  device::Step* part = &mine.state;
  experts_.run({&part, 1}, shares_, device::Combine::exact, 0);
  side_.combine(mine.state, {});
}

bool Monolith::wait_sampled(int microbatch, const RunLimits& limits) {
  if (limits.reached(now())) return false;
  Microbatch& mine = microbatches_[microbatch];
  experts(mine);
  side_.sample(mine.state);
  virtual_ns_ += kStepNs;
  take(microbatch);
  return true;
}

void Monolith::wait_until(Nanos at_ns, const RunLimits& limits) {
  virtual_ns_ = std::max(virtual_ns_, at_ns);
  while (options_.wall_clock && now() < at_ns && !limits.signalled())
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::min<Nanos>(at_ns - now(), 20 * kStepNs)));
}

void Monolith::finish() {
  release();
  output_.release_all();
}

}  // namespace afore::host
