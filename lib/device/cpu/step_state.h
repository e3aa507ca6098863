#pragma once
// What one attention worker holds of one microbatch's step: its tokens, their hidden states, and where the gate sends
// them. The attention worker fills it and combines; FFN workers read `x` and the routing, and write rows of `y` that
// are theirs alone. Buffers are reused from step to step.
#include <cstdint>
#include <span>
#include <vector>

#include "device/cpu/sample.h"

namespace afore::device::cpu {

// Consecutive tokens of one sequence.
struct Slice {
  std::vector<std::int32_t>* pages = nullptr;  // the sequence's
  std::int64_t first = 0;                      // position of its first token
  std::int64_t tokens = 0;
  bool samples = false;  // the last token's logits choose the next one
  SamplingOptions sampling;
  std::uint64_t sample_index = 0;
};

struct StepState {
  std::vector<Slice> slices;
  std::vector<int> slots;      // by slice: the request, as who composes steps knows it
  std::vector<int> token_ids;  // of all slices, in order
  std::vector<int> sampled;    // by slice; -1 where it does not sample
  int next_layer = 0;          // the first that has not run

  std::vector<float> residual, x, shared;  // [tokens][hidden]; x is the experts' input
  std::vector<std::int32_t> experts;       // [tokens][top_k]
  std::vector<float> weights;              // [tokens][top_k]
  // The pairs (token * top_k + k) by expert, in token order: the occurrences that plans number.
  std::vector<std::int64_t> counts;  // by expert
  std::vector<std::int32_t> begin;   // experts + 1 offsets into pairs
  std::vector<std::int32_t> pairs;
  std::vector<float> y;  // exact: [tokens][top_k][hidden]; partial: [FFN workers][tokens][hidden]

  std::int64_t tokens() const { return static_cast<std::int64_t>(token_ids.size()); }
  // From experts: counts, begin and pairs.
  void sort_by_expert(int experts_in_layer);
};

}  // namespace afore::device::cpu
