#pragma once
// Choosing the next token. Deterministic: the same logits, options and place in the sequence give the same token,
// whatever else is in the batch.
#include <cstdint>
#include <span>

#include "device/step.h"

namespace afore::device::cpu {

// `index`: how many tokens were sampled for the request before.
int sample(std::span<const float> logits, const SamplingOptions& options, std::uint64_t index);

}  // namespace afore::device::cpu
