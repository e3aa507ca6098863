#pragma once
// A model's weights as the kernels read them: the attention side's packed once and shared by all attention workers,
// experts packed one by one into wherever they are to live.
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "device/cpu/packed.h"
#include "nn/weights.h"

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
  AttentionWeights(const nn::ModelConfig& config, const nn::ModelTensors& tensors);

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

// Where experts' weights come from. Keeps the checkpoint open; loading is thread-safe.
class ExpertSource {
 public:
  ExpertSource(const nn::ModelConfig& config, nn::Checkpoint checkpoint);

  const nn::ModelConfig& config() const { return config_; }
  const nn::ModelTensors& tensors() const { return tensors_; }
  const ExpertShape& shape() const { return shape_; }
  void load(int layer, int expert, std::byte* out) const {
    load_mlp(tensors_.layers[layer].experts[expert], shape_, out);
  }

 private:
  nn::ModelConfig config_;
  nn::Checkpoint checkpoint_;
  nn::ModelTensors tensors_;
  ExpertShape shape_;
};

}  // namespace afore::device::cpu
