#pragma once
// Choosing the next token. Weights are integers (a token's probability by the likeliest's, in 2^-32), so that their
// sums have no order, and the exponential is one sequence of fused multiply-adds: device and twin agree exactly.
#include <cstdint>

#include "kernels/gpu.h"

namespace afore::kernels {

struct SampleRow {
  float temperature = 0;  // 0 or less: the largest logit, the lowest id of equal ones
  float top_p = 1;        // the fewest likeliest tokens (equal ones by the lower id) whose probabilities reach it
  float uniform = 0;      // in [0, 1): the draw
};

// logits: [rows][vocab] float32; tokens: [rows]. Of what top_p keeps, the first token in order of ids at which the sum
// of weights exceeds uniform * total. *not_finite becomes 1 when a logit is not finite; its row's token is then 0.
void sample(const float* logits, const SampleRow* options, std::int32_t rows, std::int32_t vocab, std::int32_t* tokens,
            std::int32_t* not_finite, cudaStream_t stream);

namespace twin {
void sample(const float* logits, const SampleRow* options, std::int32_t rows, std::int32_t vocab, std::int32_t* tokens,
            std::int32_t* not_finite);
}  // namespace twin

}  // namespace afore::kernels
