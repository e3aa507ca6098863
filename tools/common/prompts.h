#pragma once
// The requests that a real model is given: from the command line, files of prompts, the bundled workloads, or a trace
// of requests whose prompts are made up from those.
#include <optional>
#include <string>
#include <vector>

#include "common/cli.h"
#include "host/serving_loop.h"
#include "nn/config.h"
#include "nn/tokenizer.h"

namespace afore::cli {

struct PromptFlags {
  std::vector<std::string> prompts, stop;
  std::string file, workload, trace;
  std::int64_t max_tokens = kAbsent, num_prompts = 0, seed = 0;
  std::optional<double> top_p, rate_scale;
  double temperature = 0;
  bool ignore_eos = false;
};

void add_prompt_flags(CLI::App& app, PromptFlags& flags);

// In the order of their arrival. Error{usage} when no prompts are named, or in several ways; Error{data} for a prompt
// that leaves no room for a token in the model's context. Requests for more tokens than that ask for what it has.
std::vector<host::IncomingRequest> load_prompts(const PromptFlags& flags, const nn::Tokenizer& tokenizer,
                                                const nn::ModelConfig& config);

}  // namespace afore::cli
