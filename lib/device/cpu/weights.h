#pragma once
// A model's weights as the kernels read them: the attention side's packed once and shared by all attention workers,
// experts packed one by one into wherever they are to live.
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "device/cpu/packed.h"
#include "nn/model.h"

namespace afore::device::cpu {

// A packed matrix or expert block that owns its memory, aligned to a cache line.
class Block {
 public:
  Block() = default;
  explicit Block(std::size_t bytes);
  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  std::size_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(std::byte* data) const;
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t bytes_ = 0;
};

// Packs one MLP as a block of `shape`. Error{data} when a value is not finite.
void load_mlp(const nn::MlpTensors& tensors, const ExpertShape& shape, std::byte* out);

struct AttentionLayer {
  std::vector<float> input_norm, post_attention_norm, q_norm, k_norm;  // the last two empty without qk_norm
  Block qkv, o;                                                        // q | k | v rows in one matrix
  std::vector<float> qkv_bias;                                         // empty without
  Block gate;                                                          // MoE layers
  std::vector<float> gate_bias;                                        // empty without
  Block mlp;  // the dense MLP, or the shared experts of a MoE layer; may be empty
};

struct AttentionWeights {
  // left_out: qkv, o and mlp of each layer are empty, for who fills them in before they are read; and there is no head.
  enum class Matrices { packed, left_out };
  explicit AttentionWeights(const nn::Model& model, Matrices matrices = Matrices::packed);

  nn::ModelConfig config;
  std::vector<std::uint16_t> embed;  // [vocab][hidden] bf16
  std::vector<float> final_norm;
  Block lm_head;
  std::vector<AttentionLayer> layers;

  Packed qkv(int layer) const;
  Packed o(int layer) const;
  Packed gate(int layer) const;
  Packed head() const { return {config.vocab, config.hidden, lm_head.data()}; }
  ExpertShape mlp_shape(int layer) const;
};

constexpr ExpertShape expert_shape(const nn::ModelConfig& config) { return {config.hidden, config.moe_intermediate}; }
// One expert of the model, packed. Thread-safe.
inline void load_expert(const nn::Model& model, int layer, int expert, std::byte* out) {
  load_mlp(model.tensors.layers[layer].experts[expert], expert_shape(model.config), out);
}

}  // namespace afore::device::cpu
