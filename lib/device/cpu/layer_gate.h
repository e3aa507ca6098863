#pragma once
// The gates of a model's MoE layers, from hidden states to experts; also on hidden states of another layer.
#include <cstdint>
#include <memory>
#include <vector>

#include "device/cpu/kernels.h"
#include "device/cpu/weights.h"

namespace afore::device::cpu {

class LayerGate {
 public:
  // `weights` outlives it; `pool` may be null.
  LayerGate(const Kernels& kernels, const AttentionWeights& weights, std::shared_ptr<ThreadPool> pool)
      : kernels_(kernels), weights_(weights), pool_(std::move(pool)) {}

  // Of rows as the gate reads them, normed, [rows][hidden]: experts and weights, [rows][top_k], as gate_token() has
  // them. Error{data} when a logit is not finite.
  void choose(int layer, const float* x, std::int64_t rows, std::vector<std::int32_t>& experts,
              std::vector<float>& weights);
  // Of rows of the residual stream: behind the norm that stands before this layer's gate.
  void choose_of_residual(int layer, const float* residual, std::int64_t rows, std::vector<std::int32_t>& experts,
                          std::vector<float>& weights);

 private:
  const Kernels& kernels_;
  const AttentionWeights& weights_;
  std::shared_ptr<ThreadPool> pool_;
  Scratch scratch_;
  std::vector<float> normed_, logits_;
};

}  // namespace afore::device::cpu
