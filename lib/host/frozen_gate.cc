#include "host/frozen_gate.h"

#include <algorithm>

namespace afore::host {

void FrozenGate::at_gate(const device::cpu::StepState& step, const Target& target, std::vector<Prediction>& out) {
  const std::vector<bool>& is_moe = weights_.config.is_moe;
  const auto next = std::find(is_moe.begin() + target.layer + 1, is_moe.end(), true);
  if (next == is_moe.end()) return;
  Target ahead = target;
  ahead.layer = static_cast<int>(next - is_moe.begin());
  gate_.choose_of_residual(ahead.layer, step.residual.data(), step.tokens(), chosen_, chosen_weights_);
  out.push_back(prediction_of(ahead, "gate", target.layer, chosen_, weights_.config.gate, with_experts_));
}

}  // namespace afore::host
