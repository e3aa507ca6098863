#pragma once
// A copy of the model in 4 bits that runs every step ahead of it, as far as the last gate, for the experts it chooses
// (the quantised predictor of Director, arXiv 2607.08782). It takes the tokens that the model was given and has
// sampled, never its own, and keeps keys and values of its own, in pages of the same numbers.
#include "device/cpu/attention_side.h"
#include "device/cpu/expert_side.h"
#include "device/cpu/quantised_weights.h"
#include "host/predictor.h"

namespace afore::host {

class Replica final : public Predictor {
 public:
  // `pool` may be null. `kv_pages`: of the model's cache. `with_experts`: predictions name each token's.
  Replica(const nn::Model& model, device::cpu::Isa isa, std::shared_ptr<device::cpu::ThreadPool> pool,
          std::int64_t kv_pages, bool with_experts);

  void at_step(const device::cpu::StepState& step, std::int64_t step_number, int microbatch,
               std::vector<Prediction>& out) override;
  void at_gate(const device::cpu::StepState&, const Target&, std::vector<Prediction>&) override {}

  // Of its weights: codes with their scales, and what stays as stored. Without its cache.
  std::int64_t weight_bytes() const { return weight_bytes_; }

 private:
  void to_gate(int layer);
  void experts(int layer);

  std::shared_ptr<device::cpu::ThreadPool> pool_;
  bool with_experts_;
  std::vector<int> moe_layers_;
  device::cpu::QuantisedWeights quantised_;
  device::cpu::AttentionWeights weights_;  // of the layers that are being computed, whole; of others the small parts
  std::int64_t weight_bytes_ = 0;
  device::cpu::RotaryTable rotary_;
  device::cpu::AttentionSide side_;
  device::cpu::ExpertSide experts_;
  std::vector<device::cpu::AttentionLayer> room_;  // for the matrices of layers that are computed in one go
  device::cpu::Block expert_room_;                 // for some experts of one layer
  device::cpu::StepState state_;
  std::vector<int> asked_;  // experts of the layer that have tokens
  std::vector<device::cpu::PackedShare> shares_;
};

}  // namespace afore::host
