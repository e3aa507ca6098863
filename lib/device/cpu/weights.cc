#include "device/cpu/weights.h"

#include <new>

namespace afore::device::cpu {
namespace {

constexpr std::size_t kLineBytes = 64;

std::vector<float> floats(const nn::Tensor& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.count()));
  nn::read_f32(tensor, 0, values);
  return values;
}

void append_rows(const nn::Tensor& tensor, std::vector<std::uint16_t>& rows) {
  const std::size_t from = rows.size();
  rows.resize(from + static_cast<std::size_t>(tensor.count()));
  nn::read_bf16(tensor, 0, std::span(rows).subspan(from));
}

Block packed(std::initializer_list<const nn::Tensor*> tensors) {
  std::vector<std::uint16_t> rows;
  const std::int64_t k = (*tensors.begin())->shape[1];
  for (const nn::Tensor* tensor : tensors) append_rows(*tensor, rows);
  const std::int64_t n = static_cast<std::int64_t>(rows.size()) / k;
  Block block(packed_bytes(n, k));
  pack(rows, n, k, block.data());
  return block;
}

void append_bias(const nn::Tensor& tensor, std::vector<float>& bias) {
  const std::vector<float> part = floats(tensor);
  bias.insert(bias.end(), part.begin(), part.end());
}

void pack_matrices(const nn::LayerTensors& from, const ExpertShape& mlp_shape, AttentionLayer& layer) {
  layer.qkv = packed({&from.q, &from.k, &from.v});
  layer.o = packed({&from.o});
  const std::optional<nn::MlpTensors>& mlp = from.dense ? from.dense : from.shared;
  if (mlp) {
    layer.mlp = Block(mlp_shape.bytes());
    load_mlp(*mlp, mlp_shape, layer.mlp.data());
  }
}

// Without what pack_matrices() adds.
AttentionLayer attention_layer(const nn::LayerTensors& from) {
  AttentionLayer layer;
  layer.input_norm = floats(from.input_norm);
  layer.post_attention_norm = floats(from.post_attention_norm);
  if (from.q_norm) layer.q_norm = floats(*from.q_norm);
  if (from.k_norm) layer.k_norm = floats(*from.k_norm);
  if (from.q_bias) {
    append_bias(*from.q_bias, layer.qkv_bias);
    append_bias(*from.k_bias, layer.qkv_bias);
    append_bias(*from.v_bias, layer.qkv_bias);
  }
  if (from.gate) layer.gate = packed({&*from.gate});
  if (from.gate_bias) layer.gate_bias = floats(*from.gate_bias);
  return layer;
}

}  // namespace

Block::Block(std::size_t bytes)
    : data_(static_cast<std::byte*>(::operator new(bytes, std::align_val_t(kLineBytes)))), bytes_(bytes) {}

void Block::Free::operator()(std::byte* data) const { ::operator delete(data, std::align_val_t(kLineBytes)); }

void load_mlp(const nn::MlpTensors& tensors, const ExpertShape& shape, std::byte* out) {
  thread_local std::vector<std::uint16_t> rows;
  const auto put = [&](const nn::Tensor& tensor, const Packed& place) {
    rows.resize(static_cast<std::size_t>(tensor.count()));
    nn::read_bf16(tensor, 0, rows);
    pack(rows, place.n, place.k, out + (place.data - out));
  };
  put(tensors.gate, shape.gate(out));
  put(tensors.up, shape.up(out));
  put(tensors.down, shape.down(out));
}

AttentionWeights::AttentionWeights(const nn::Model& model, Matrices matrices) : config(model.config) {
  const nn::ModelTensors& tensors = model.tensors;
  append_rows(tensors.embed, embed);
  final_norm = floats(tensors.final_norm);
  for (const nn::LayerTensors& layer : tensors.layers) layers.push_back(attention_layer(layer));
  if (matrices == Matrices::left_out) return;
  lm_head = packed({&tensors.lm_head});
  for (std::size_t i = 0; i < tensors.layers.size(); ++i)
    pack_matrices(tensors.layers[i], mlp_shape(static_cast<int>(i)), layers[i]);
}

Packed AttentionWeights::qkv(int layer) const {
  return {std::int64_t{config.heads + 2 * config.kv_heads} * config.head_dim, config.hidden, layers[layer].qkv.data()};
}

Packed AttentionWeights::o(int layer) const {
  return {config.hidden, std::int64_t{config.heads} * config.head_dim, layers[layer].o.data()};
}

Packed AttentionWeights::gate(int layer) const {
  return {config.gate.experts, config.hidden, layers[layer].gate.data()};
}

ExpertShape AttentionWeights::mlp_shape(int layer) const {
  return {config.hidden, config.is_moe[layer] ? config.shared_intermediate : config.dense_intermediate};
}

}  // namespace afore::device::cpu
