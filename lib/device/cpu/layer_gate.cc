#include "device/cpu/layer_gate.h"

#include <span>

#include "device/cpu/finite.h"
#include "device/cpu/gate.h"

namespace afore::device::cpu {

void LayerGate::choose(int layer, const float* x, std::int64_t rows, std::vector<std::int32_t>& experts,
                       std::vector<float>& weights) {
  const nn::GateConfig& gate = weights_.config.gate;
  logits_.resize(static_cast<std::size_t>(rows * gate.experts));
  kernels_.matmul(x, weights_.config.hidden, rows, weights_.gate(layer), logits_.data(), gate.experts, scratch_,
                  pool_.get());
  check_finite(logits_.data(), rows * gate.experts, "the gate's logits in layer " + std::to_string(layer));
  experts.resize(static_cast<std::size_t>(rows * gate.top_k));
  weights.resize(experts.size());
  for (std::int64_t t = 0; t < rows; ++t)
    gate_token(gate, std::span(logits_).subspan(t * gate.experts, gate.experts), weights_.layers[layer].gate_bias,
               std::span(experts).subspan(t * gate.top_k, gate.top_k),
               std::span(weights).subspan(t * gate.top_k, gate.top_k));
}

void LayerGate::choose_of_residual(int layer, const float* residual, std::int64_t rows,
                                   std::vector<std::int32_t>& experts, std::vector<float>& weights) {
  const std::int64_t hidden = weights_.config.hidden;
  normed_.resize(static_cast<std::size_t>(rows * hidden));
  const float* norm = weights_.layers[layer].post_attention_norm.data();
  for (std::int64_t r = 0; r < rows; ++r)
    kernels_.rms_norm(residual + r * hidden, norm, weights_.config.rms_eps, normed_.data() + r * hidden, hidden);
  choose(layer, normed_.data(), rows, experts, weights);
}

}  // namespace afore::device::cpu
