#pragma once
// afore-serve run: prompts through a real model, attention and experts on workers of their own.
#include <optional>
#include <string>

#include "afore-serve/replay.h"
#include "common/model_source.h"
#include "common/prompts.h"
#include "common/sm_partitions.h"

namespace afore::serve {

struct RunFlags {
  cli::PromptFlags prompts;
  cli::PlanningFlags planning;
  RequestFlags requests;
  cli::ModelSourceFlags model;
  cli::SmPartitionsFlag sm_partitions;
  std::string host = "threads", device = "cpu", isa = "auto", combine, record, sizes, report;
  std::int64_t threads = 1, max_concurrency = kAbsent, deadline_s = 120;
  bool json = false, timeline = false, pace = false, no_overlap = false;
};

void add_run_flags(CLI::App& app, RunFlags& flags);
void run(RunFlags flags);

}  // namespace afore::serve
