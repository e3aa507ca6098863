#pragma once
// Guesses at what a model's later gates will ask for, made while it runs and told in its stream ahead of the demand
// at whose time they are known. They read what the run computes, and change none of it.
#include <cstdint>
#include <string>
#include <vector>

#include "core/records.h"
#include "device/cpu/step_state.h"
#include "nn/config.h"

namespace afore::host {

class Predictor {
 public:
  virtual ~Predictor() = default;

  // A step's tokens are known and their pages are there; nothing of it is computed.
  virtual void at_step(const device::cpu::StepState& step, std::int64_t step_number, int microbatch,
                       std::vector<Prediction>& out) = 0;
  // The gate of this target has chosen, and its experts have not run.
  virtual void at_gate(const device::cpu::StepState& step, const Target& target, std::vector<Prediction>& out) = 0;
};

// `chosen`: [tokens][top_k]. `with_experts`: also the ids of each token.
inline Prediction prediction_of(const Target& target, std::string predictor, int after_layer,
                                const std::vector<std::int32_t>& chosen, const nn::GateConfig& gate,
                                bool with_experts) {
  Prediction prediction{target, std::move(predictor), after_layer, {}, {}};
  prediction.counts.assign(static_cast<std::size_t>(gate.experts), 0);
  for (const std::int32_t expert : chosen) ++prediction.counts[expert];
  if (!with_experts) return prediction;
  for (auto row = chosen.begin(); row != chosen.end(); row += gate.top_k)
    prediction.experts.emplace_back(row, row + gate.top_k);
  return prediction;
}

}  // namespace afore::host
