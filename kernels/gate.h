#pragma once
// The gate of a MoE layer: from logits to the chosen experts, their counts and the pairs (token * top_k + k) in order
// of their experts. Rules as lib/nn/config.h has them (GateConfig).
#include <cstdint>

#include "kernels/gpu.h"

namespace afore::kernels {

struct GateRule {
  bool sigmoid = false;  // sigmoid with bias, else softmax
  std::int32_t experts = 0, top_k = 0;
  std::int32_t groups = 1, top_groups = 1;  // only experts of the best groups (by their two best scores) compete
  bool normalize = true;
  float scaling = 1;
};
inline constexpr std::int32_t kMostExperts = 1024, kMostTopK = 32;

// All pointers are of the stream's device.
// logits: [tokens][experts] float32. bias: [experts] or null, for the choice only. ids, weights: [tokens][top_k], best
// first by the score that chooses, equal ones by the lower id. *not_finite becomes 1 when a logit is not finite; ids
// are in range even then. Device and twin agree bit for bit: softmax's sum is one of 32 sums of every 32nd expert,
// halved. Chosen beyond those that compete is expert 0.
void gate(const GateRule& rule, const float* logits, const float* bias, std::int32_t tokens, std::int32_t* ids,
          float* weights, std::int32_t* not_finite, cudaStream_t stream);

// counts[e]: how often e stands in ids[0 … pairs). [experts], overwritten.
void demand_histogram(const std::int32_t* ids, std::int32_t pairs, std::int32_t experts, std::int32_t* counts,
                      cudaStream_t stream);

// begin: [experts + 1], the sums of counts. sorted: [pairs], the pairs of expert e at begin[e] …, ascending: the
// occurrences that plans number.
void sort_pairs(const std::int32_t* ids, std::int32_t pairs, std::int32_t experts, const std::int32_t* counts,
                std::int32_t* begin, std::int32_t* sorted, cudaStream_t stream);

// The specification of each, in plain C++ (kernels/twin).
namespace twin {
void gate(const GateRule& rule, const float* logits, const float* bias, std::int32_t tokens, std::int32_t* ids,
          float* weights, std::int32_t* not_finite);
void demand_histogram(const std::int32_t* ids, std::int32_t pairs, std::int32_t experts, std::int32_t* counts);
void sort_pairs(const std::int32_t* ids, std::int32_t pairs, std::int32_t experts, const std::int32_t* counts,
                std::int32_t* begin, std::int32_t* sorted);
}  // namespace twin

}  // namespace afore::kernels
