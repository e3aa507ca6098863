#pragma once
// What a run of the actors on threads is given, and what it tells.
#include <cstddef>
#include <functional>
#include <optional>

#include "core/records.h"
#include "device/cpu/kernels.h"
#include "device/device.h"
#include "pipeline/planner.h"

namespace afore::host {

// What a run is to do wrong, so that it is seen what becomes of that: from so long after its start; absent: never. What
// hangs goes on when the run stops.
struct ThreadFaults {
  std::optional<Nanos> hang_plan_after_ns{};  // the next plan is not made
  std::optional<Nanos> hang_copy_after_ns{};  // copies that start then do not end
  std::optional<Nanos> fail_scheduler_after_ns{};
};

struct ThreadOptions {
  ModelSpec model;      // model_spec() of the checkpoint's config
  ClusterSpec cluster;  // all fields present; tile_tokens is one of the device's
  LayerCost layer_cost;
  PipelineCost pipeline_cost;
  bool overlap = true;
  bool paced = false;  // an operation lasts at least what the costs say
  enum class On { cpu, cuda } on = On::cpu;
  device::cpu::Isa isa = device::cpu::Isa::scalar;  // cpu
  device::Combine combine = device::Combine::exact;
  bool sm_partitions = true;          // cuda: workers that share a GPU compute on SMs of their own
  std::int64_t kv_budget_tokens = 0;  // of each attention worker
  int worker_threads = 1;             // cpu: that each worker computes with
  ThreadFaults faults{};
  std::optional<std::size_t> latency_sample{};  // as of pipeline::Latencies
  Nanos deadline_ns = 120'000'000'000;          // for any wait; then the run fails, naming what it waited for
};

// In the order of the output stream; called by the thread that serves, when it waits. Every function may be empty.
struct ThreadSink {
  // A target with its plan; `batch` where it begins a microbatch's step.
  std::function<void(const Batch* batch, const Demand&, const pipeline::PlannedTarget&)> planned;
  std::function<void(const Observed&)> observed;
  std::function<void(const Operation&)> operation;
};

}  // namespace afore::host
