#include "nn/weights.h"

#include <fmt/format.h>

#include <initializer_list>

namespace afore::nn {
namespace {

struct MlpNames {
  const char *gate, *up, *down;
};

constexpr MlpNames kProjections{"gate_proj", "up_proj", "down_proj"};
constexpr MlpNames kMixtralExpert{"w1", "w3", "w2"};  // transformers, MixtralBlockSparseTop2MLP

class Binder {
 public:
  Binder(const FindTensor& find, const ModelConfig& config) : find_(find), config_(config) {}

  ModelTensors bind() const {
    const std::int64_t vocab = config_.vocab, hidden = config_.hidden;
    ModelTensors model;
    model.embed = weight("model.embed_tokens", {vocab, hidden});
    model.final_norm = weight("model.norm", {hidden});
    model.lm_head = config_.tied_embeddings ? model.embed : weight("lm_head", {vocab, hidden});
    model.layers.reserve(static_cast<std::size_t>(config_.layers));
    for (int layer = 0; layer < config_.layers; ++layer) model.layers.push_back(bind_layer(layer));
    return model;
  }

 private:
  using Shape = std::initializer_list<std::int64_t>;

  Tensor at(const std::string& name, Shape shape) const {
    return find_(name, std::span<const std::int64_t>(shape.begin(), shape.size()));
  }
  Tensor weight(const std::string& name, Shape shape) const { return at(name + ".weight", shape); }

  LayerTensors bind_layer(int layer) const {
    const std::string prefix = fmt::format("model.layers.{}.", layer);
    LayerTensors bound;
    bound.input_norm = weight(prefix + "input_layernorm", {config_.hidden});
    bound.post_attention_norm = weight(prefix + "post_attention_layernorm", {config_.hidden});
    bind_attention(prefix + "self_attn.", bound);
    const bool mixtral = config_.architecture == Architecture::mixtral;
    const std::string mlp = prefix + (mixtral ? "block_sparse_moe." : "mlp.");
    if (config_.is_moe[static_cast<std::size_t>(layer)]) bind_experts(mlp, bound);
    else bound.dense = bind_mlp(mlp, kProjections, config_.dense_intermediate);
    return bound;
  }

  void bind_attention(const std::string& prefix, LayerTensors& bound) const {
    const std::int64_t hidden = config_.hidden, head_dim = config_.head_dim;
    const std::int64_t q_width = config_.heads * head_dim, kv_width = config_.kv_heads * head_dim;
    bound.q = weight(prefix + "q_proj", {q_width, hidden});
    bound.k = weight(prefix + "k_proj", {kv_width, hidden});
    bound.v = weight(prefix + "v_proj", {kv_width, hidden});
    bound.o = weight(prefix + "o_proj", {hidden, q_width});
    if (config_.attention_bias) {
      bound.q_bias = at(prefix + "q_proj.bias", {q_width});
      bound.k_bias = at(prefix + "k_proj.bias", {kv_width});
      bound.v_bias = at(prefix + "v_proj.bias", {kv_width});
    }
    if (config_.qk_norm) {
      bound.q_norm = weight(prefix + "q_norm", {head_dim});
      bound.k_norm = weight(prefix + "k_norm", {head_dim});
    }
  }

  void bind_experts(const std::string& prefix, LayerTensors& bound) const {
    const int experts = config_.gate.experts;
    const MlpNames& names = config_.architecture == Architecture::mixtral ? kMixtralExpert : kProjections;
    bound.gate = weight(prefix + "gate", {experts, config_.hidden});
    if (config_.gate.rule == GateConfig::Rule::sigmoid_bias)
      bound.gate_bias = at(prefix + "gate.e_score_correction_bias", {experts});
    bound.experts.reserve(static_cast<std::size_t>(experts));
    for (int expert = 0; expert < experts; ++expert)
      bound.experts.push_back(bind_mlp(fmt::format("{}experts.{}.", prefix, expert), names, config_.moe_intermediate));
    if (config_.shared_intermediate > 0)
      bound.shared = bind_mlp(prefix + "shared_experts.", kProjections, config_.shared_intermediate);
  }

  MlpTensors bind_mlp(const std::string& prefix, const MlpNames& names, std::int64_t intermediate) const {
    const std::int64_t hidden = config_.hidden;
    return {.gate = weight(prefix + names.gate, {intermediate, hidden}),
            .up = weight(prefix + names.up, {intermediate, hidden}),
            .down = weight(prefix + names.down, {hidden, intermediate})};
  }

  const FindTensor& find_;
  const ModelConfig& config_;
};

std::int64_t bytes_of(const Tensor& tensor) { return std::ssize(tensor.bytes); }
std::int64_t bytes_of(const std::optional<Tensor>& tensor) { return tensor ? bytes_of(*tensor) : 0; }
std::int64_t bytes_of(const MlpTensors& mlp) { return bytes_of(mlp.gate) + bytes_of(mlp.up) + bytes_of(mlp.down); }
std::int64_t bytes_of(const std::optional<MlpTensors>& mlp) { return mlp ? bytes_of(*mlp) : 0; }

}  // namespace

std::int64_t small_bytes(const LayerTensors& layer) {
  return bytes_of(layer.input_norm) + bytes_of(layer.post_attention_norm) + bytes_of(layer.q_bias) +
         bytes_of(layer.k_bias) + bytes_of(layer.v_bias) + bytes_of(layer.q_norm) + bytes_of(layer.k_norm) +
         bytes_of(layer.gate) + bytes_of(layer.gate_bias);
}

std::int64_t stored_bytes(const ModelTensors& model) {
  std::int64_t bytes = bytes_of(model.embed) + bytes_of(model.final_norm);
  if (model.lm_head.bytes.data() != model.embed.bytes.data()) bytes += bytes_of(model.lm_head);
  for (const LayerTensors& layer : model.layers) {
    bytes += small_bytes(layer) + bytes_of(layer.q) + bytes_of(layer.k) + bytes_of(layer.v) + bytes_of(layer.o) +
             bytes_of(layer.dense) + bytes_of(layer.shared);
    for (const MlpTensors& expert : layer.experts) bytes += bytes_of(expert);
  }
  return bytes;
}

ModelTensors bind_tensors(const FindTensor& find, const ModelConfig& config) { return Binder(find, config).bind(); }

ModelTensors bind_tensors(const Checkpoint& checkpoint, const ModelConfig& config) {
  return bind_tensors([&](const std::string& name,
                          std::span<const std::int64_t> shape) -> Tensor { return checkpoint.at(name, shape); },
                      config);
}

}  // namespace afore::nn
