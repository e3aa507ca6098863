#pragma once
// `afore-trace record` from a model that runs: its batches, demand and completions, as they come.
#include <cstdint>
#include <string>
#include <vector>

#include "common/options.h"
#include "common/prompts.h"

namespace afore::cli {

struct RecordModelFlags {
  PromptFlags prompts;
  std::string model, isa = "auto";
  std::int64_t microbatches = 3, max_concurrency = 96, max_num_batched_tokens = 2048;
  std::int64_t steps = 0, warmup_steps = 0, threads = 0;  // 0: to the last request's end; none; one per core
  bool routing = false;
  std::vector<std::string> predict;
};

void add_record_model_flags(Command app, RecordModelFlags& flags);

// The stream goes to `out`, which is finished unless a signal comes: then Error{interrupted}.
class RecordSink;
void record_model(const RecordModelFlags& flags, RecordSink& out);

}  // namespace afore::cli
