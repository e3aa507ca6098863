#pragma once
// Choosing the next token. Deterministic: the same logits, options and place in the sequence give the same token,
// whatever else is in the batch.
#include <cstdint>
#include <span>

namespace afore::device::cpu {

struct SamplingOptions {
  double temperature = 0;  // 0: the largest logit, the lowest id of equal ones
  double top_p = 1;        // the fewest likeliest tokens whose probabilities reach it
  std::uint64_t seed = 0;  // of the request
};

// `index`: how many tokens were sampled for the request before.
int sample(std::span<const float> logits, const SamplingOptions& options, std::uint64_t index);

}  // namespace afore::device::cpu
