#pragma once
// Which tensor of a checkpoint plays which part, by the names of each architecture. Binding checks that every one is
// there with the shape that the config gives; it reads no values.
#include <functional>
#include <optional>
#include <vector>

#include "nn/checkpoint.h"
#include "nn/config.h"

namespace afore::nn {

struct MlpTensors {  // down(silu(gate(x)) * up(x))
  Tensor gate, up;   // [intermediate, hidden]
  Tensor down;       // [hidden, intermediate]
};

struct LayerTensors {
  Tensor input_norm, post_attention_norm;  // [hidden]
  Tensor q, k, v;                          // [heads * head_dim, hidden]; k, v with kv_heads
  Tensor o;                                // [hidden, heads * head_dim]
  std::optional<Tensor> q_bias, k_bias, v_bias;
  std::optional<Tensor> q_norm, k_norm;  // [head_dim]
  std::optional<MlpTensors> dense;       // in layers that are not MoE
  // MoE layers:
  std::optional<Tensor> gate;       // [experts, hidden]
  std::optional<Tensor> gate_bias;  // [experts], for selection only
  std::vector<MlpTensors> experts;
  std::optional<MlpTensors> shared;
};

struct ModelTensors {
  Tensor embed;       // [vocab, hidden]
  Tensor final_norm;  // [hidden]
  Tensor lm_head;     // [vocab, hidden]; embed where tied
  std::vector<LayerTensors> layers;
};

// As stored, of all of them; a tied head counts once.
std::int64_t stored_bytes(const ModelTensors& model);
// Of what is no large matrix: norms, biases and the gate.
std::int64_t small_bytes(const LayerTensors& layer);

// The tensor of a name, with that shape; Error when there is none.
using FindTensor = std::function<Tensor(const std::string& name, std::span<const std::int64_t> shape)>;
ModelTensors bind_tensors(const FindTensor& find, const ModelConfig& config);
ModelTensors bind_tensors(const Checkpoint& checkpoint, const ModelConfig& config);

}  // namespace afore::nn
