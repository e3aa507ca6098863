#pragma once
// What one attention worker holds of one microbatch's step: its tokens' hidden states, and where the gate sends them.
// The attention worker fills it and combines; FFN workers read `x` and the routing, and write rows of `y` that
// are theirs alone. Buffers are reused from step to step.
#include <cstdint>
#include <span>
#include <vector>

#include "device/step.h"

namespace afore::device::cpu {

struct StepState : Step {
  int next_layer = 0;  // the first that has not run

  std::vector<float> residual, x, shared;  // [tokens][hidden]; x is the experts' input
  std::vector<std::int32_t> experts;       // [tokens][top_k]
  std::vector<float> weights;              // [tokens][top_k]
  // The pairs (token * top_k + k) by expert, in token order: the assignments that plans number.
  std::vector<std::int32_t> begin;  // experts + 1 offsets into pairs
  std::vector<std::int32_t> pairs;
  std::vector<float> y;  // exact: [tokens][top_k][hidden]; partial: [FFN workers][tokens][hidden]

  // From experts: counts, begin and pairs.
  void sort_by_expert(int experts_in_layer);
};

}  // namespace afore::device::cpu
