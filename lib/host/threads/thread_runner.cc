#include "host/threads/thread_runner.h"

#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "device/plugin.h"

namespace afore::host {

namespace {

std::unique_ptr<device::Device> open_device(const LoadedModel& model, const ThreadOptions& options) {
  device::DeviceOptions device;
  device.attention_workers = static_cast<int>(options.cluster.attention_workers);
  device.ffn_workers = static_cast<int>(options.cluster.ffn_workers);
  device.combine = options.combine;
  device.kv_budget_tokens = options.kv_budget_tokens;
  device.sm_partitions = options.sm_partitions;
  device.tile_tokens = static_cast<int>(options.cluster.tile_tokens);
  if (options.on == ThreadOptions::On::cuda)
    return device::cuda_plugin().open(model.config(), model.model.tensors, device);
  return std::make_unique<device::cpu::CpuDevice>(model.model, model.weights(), device, options.isa,
                                                  options.worker_threads);
}

}  // namespace

ThreadRunner::ThreadRunner(const LoadedModel& model, const ThreadOptions& options,
                           const pipeline::PlannerOptions& planner, const ThreadSink& sink, TextSink text)
    : ThreadRunner(model, options, planner, sink, std::move(text), open_device(model, options)) {}

ThreadRunner::ThreadRunner(const LoadedModel& model, const ThreadOptions& options,
                           const pipeline::PlannerOptions& planner, const ThreadSink& sink, TextSink text,
                           std::unique_ptr<device::Device> device)
    : ModelRunner(model, static_cast<int>(options.cluster.microbatches),
                  static_cast<int>(options.cluster.attention_workers), std::move(text)),
      moe_layers_(options.model.moe_layers),
      microbatches_(static_cast<std::size_t>(options.cluster.microbatches)),
      device_(std::move(device)),
      engine_(std::make_unique<ThreadEngine>(options, *device_, planner, held_back(sink))) {}

// The sink hears of things in the order in which they came, each when its step is over.
ThreadSink ThreadRunner::held_back(const ThreadSink& sink) {
  ThreadSink to;
  if (sink.planned)
    to.planned = [this, sink](const Batch* batch, const Demand& demand, const pipeline::PlannedTarget& planned) {
      output_.add(demand.target.step, batch ? std::optional<Batch>(*batch) : std::nullopt,
                  [sink, demand, planned](const Batch* final_batch) { sink.planned(final_batch, demand, planned); });
    };
  if (sink.observed)
    to.observed = [this, sink](const Observed& observed) {
      output_.add(observed.target.step, std::nullopt, [sink, observed](const Batch*) { sink.observed(observed); });
    };
  if (sink.operation)
    to.operation = [this, sink](const Operation& operation) {
      output_.add(operation.target.step, std::nullopt, [sink, operation](const Batch*) { sink.operation(operation); });
    };
  return to;
}

void ThreadRunner::begin_step(std::int64_t step, int microbatch, const batch::ServingStep& composed,
                              const Batch& record, Phase phase) {
  compose(step, microbatch, composed);
  microbatches_[microbatch] = {record, phase, composed.tokens, true};
  engine_->on_target({step, moe_layers_[0], microbatch}, phase, composed.tokens, record);
}

void ThreadRunner::next_layer(int microbatch, std::size_t layer) {
  const Microbatch& mine = microbatches_[microbatch];
  engine_->on_target({step_of(microbatch), moe_layers_[layer], microbatch}, mine.phase, mine.tokens, mine.record);
}

bool ThreadRunner::wait_sampled(int microbatch, const RunLimits& limits) {
  engine_->end_step(microbatch);
  if (!engine_->wait_sampled(microbatch, limits)) return false;
  microbatches_[microbatch].under_way = false;
  take(microbatch);
  return true;
}

void ThreadRunner::wait_until(Nanos at_ns, const RunLimits& limits) { engine_->wait_until(at_ns, limits); }

void ThreadRunner::on_idle() {
  engine_->throw_failure();
  engine_->deliver_news();
  release();
}

// What a signal or the end of time left half done is dropped with the threads.
void ThreadRunner::finish() {
  const bool cut = std::any_of(microbatches_.begin(), microbatches_.end(), [](const auto& m) { return m.under_way; });
  if (!cut) engine_->drain();
  engine_->stop();
  engine_->deliver_news();
  release();
  output_.release_all();
}

}  // namespace afore::host
