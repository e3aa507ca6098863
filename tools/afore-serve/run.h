#pragma once
// afore-serve run: prompts through a real model, attention and experts on workers of their own.
#include <string>

#include "afore-serve/workers.h"
#include "common/options.h"
#include "common/prompts.h"

namespace afore::serve {

struct RunFlags : WorkerFlags {
  cli::PromptFlags prompts;
  std::string record, report;
  bool json = false, timeline = false;
};

void add_run_flags(cli::Command app, RunFlags& flags);
void run(RunFlags flags);

}  // namespace afore::serve
