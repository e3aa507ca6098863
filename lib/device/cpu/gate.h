#pragma once
// The gate: experts and weights of each token from its logits (nn::GateConfig has the rules), and the sums of what the
// experts return.
#include <cstdint>
#include <span>

#include "device/cpu/kernels.h"
#include "nn/config.h"

namespace afore::device::cpu {

// Of one token. `bias`: [experts] or empty. ids and weights: [top_k], best first by the score that chooses, equal ones
// by the lower id.
void gate_token(const nn::GateConfig& config, std::span<const float> logits, std::span<const float> bias,
                std::span<std::int32_t> ids, std::span<float> weights);

// out = residual + ((w0 y0 + w1 y1) + ...) [+ shared], in float32, k in order, the shared expert last. `y`: [top_k]
// rows of n floats, one after the other. `shared` may be null.
void combine_exact(std::span<const float> weights, const float* y, const float* shared, const float* residual,
                   float* out, std::int64_t n);

}  // namespace afore::device::cpu
