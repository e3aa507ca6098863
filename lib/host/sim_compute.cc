// What takes a device's time in a simulated run: attention, sampling and experts, each from when it may begin.
#include "host/sim_impl.h"

namespace afore::host {

void SimHost::Impl::start(const ComputeTask& task) {
  switch (task.kind) {
    case ComputeTask::Kind::attention: start_attention(task.worker, task.item); break;
    case ComputeTask::Kind::sampling: start_sampling(task.worker, task.item); break;
    case ComputeTask::Kind::experts: ffn[task.worker].on_rows(now(), flight(task.serial).demand.target); break;
  }
}

void SimHost::Impl::start_attention(int worker, const WorkItem& item) {
  const Nanos end = now() + options.pipeline_cost.attention_ns(item.tokens, item.kv_tokens, item.first_in_step);
  timeline("A", worker, "compute", "attention", item.target, now(), end);
  events.push(clock.notices('A', worker, FaultClock::Lane::compute, end),
              caused(EventKind::attention_done, worker, serial_of(item.target)));
}

void SimHost::Impl::start_sampling(int worker, const WorkItem& item) {
  const Nanos end = now() + options.pipeline_cost.sample_ns(item.tokens);
  timeline("A", worker, "compute", "sampling", item.target, now(), end);
  events.push(clock.notices('A', worker, FaultClock::Lane::compute, end), caused(EventKind::sampling_done, worker, 0));
}

void SimHost::Impl::run_ffn(int worker, const Target& target, std::int64_t tiles, std::int64_t activated,
                            std::span<const int>) {
  const Nanos end = now() + ffn_ns(options.layer_cost, options.cluster.workers, worker, tiles, activated);
  timeline("F", worker, "compute", "expert_ffn", target, now(), end);
  events.push(clock.notices('F', worker, FaultClock::Lane::compute, end),
              caused(EventKind::ffn_done, worker, serial_of(target)));
}

}  // namespace afore::host
