#pragma once
// The next MoE layer's gate, asked one layer early: at the gate of layer l, on the residual stream as it stands there,
// behind the norm that the next gate reads through. What it cannot know is what layer l's experts and the next layer's
// attention add. (Libra and PROBE predict from such a gate; PROBE trains a correction, we do not.)
#include "device/cpu/layer_gate.h"
#include "host/predictor.h"

namespace afore::host {

class FrozenGate final : public Predictor {
 public:
  // `weights` outlives it; `pool` may be null. `with_experts`: predictions name each token's.
  FrozenGate(const device::cpu::AttentionWeights& weights, device::cpu::Isa isa,
             std::shared_ptr<device::cpu::ThreadPool> pool, bool with_experts)
      : weights_(weights),
        with_experts_(with_experts),
        gate_(device::cpu::Kernels::of(isa), weights, std::move(pool)) {}

  void at_step(const device::cpu::StepState&, std::int64_t, int, std::vector<Prediction>&) override {}
  void at_gate(const device::cpu::StepState& step, const Target& target, std::vector<Prediction>& out) override;

 private:
  const device::cpu::AttentionWeights& weights_;
  bool with_experts_;
  device::cpu::LayerGate gate_;
  std::vector<std::int32_t> chosen_;
  std::vector<float> chosen_weights_;
};

}  // namespace afore::host
