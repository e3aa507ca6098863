#pragma once
// The requests that a real model is given: from the command line, files of prompts, the bundled workloads, or a trace
// of requests whose prompts are made up from those.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/options.h"
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

void add_prompt_flags(Command app, PromptFlags& flags);

// In the order of their arrival. Error{usage} when no prompts are named, or in several ways; Error{data} for a prompt
// that leaves no room for a token in the model's context. Requests for more tokens than that ask for what it has.
std::vector<host::IncomingRequest> load_prompts(const PromptFlags& flags, const nn::Tokenizer& tokenizer,
                                                const nn::ModelConfig& config);

// The same one after the other. With `repeat` they go on without end, each time under another id (ID#1, ID#2, ...) and
// with another seed where the prompt has none of its own, all of them from the last one's arrival on; not where
// --num-prompts says how many there are, nor from a trace.
class PromptSource {
 public:
  // All of them outlive it.
  PromptSource(const PromptFlags& flags, const nn::Tokenizer& tokenizer, const nn::ModelConfig& config, bool repeat);
  ~PromptSource();

  const std::vector<host::IncomingRequest>& requests() const { return requests_; }  // without repeats
  bool next(host::IncomingRequest& request);                                        // false: there are no more

 private:
  struct Repeats;
  std::vector<host::IncomingRequest> requests_;
  std::size_t next_ = 0;
  std::unique_ptr<Repeats> repeats_;  // null: none
};

}  // namespace afore::cli
