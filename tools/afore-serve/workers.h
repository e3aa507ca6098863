#pragma once
// What run and http share: the pipeline that serves a real model, as flags describe it.
#include <string>

#include "afore-serve/replay.h"
#include "common/model_source.h"
#include "common/options.h"
#include "common/sm_partitions.h"
#include "host/threads/options.h"

namespace afore::serve {

struct WorkerFlags {
  cli::PlanningFlags planning;
  RequestFlags requests;
  cli::ModelSourceFlags model;
  cli::SmPartitionsFlag sm_partitions;
  std::string host = "threads", device = "cpu", isa = "auto", combine, sizes;
  std::int64_t threads = 1, max_concurrency = kAbsent, deadline_s = 120;
  bool pace = false, no_overlap = false;
};

// All but those of the model, and --host.
void add_worker_flags(cli::Command app, WorkerFlags& flags);

// auto is settled, and what only one of the devices knows is refused on the other.
void settle_device(WorkerFlags& flags);
// Once the device is settled.
cli::Setup worker_setup(WorkerFlags& flags, const nn::ModelConfig& config);
// Error{io} when the model and its cache are beyond the memory.
host::ServingLoopOptions serving_options(const WorkerFlags& flags, const cli::Setup& setup,
                                         const nn::ModelConfig& config);
host::ThreadOptions thread_options(const WorkerFlags& flags, const cli::Setup& setup, std::int64_t kv_budget_tokens);

}  // namespace afore::serve
