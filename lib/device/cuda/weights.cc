#include "device/cuda/weights.h"

#include "device/angles.h"

namespace afore::device::cuda {
namespace {

std::int64_t count_of(std::initializer_list<const nn::Tensor*> tensors) {
  std::int64_t count = 0;
  for (const nn::Tensor* tensor : tensors) count += tensor->count();
  return count;
}

}  // namespace

AttentionWeights::AttentionWeights(int gpu, const nn::ModelConfig& config, const nn::ModelTensors& tensors)
    : gpu_(gpu) {
  Lane lane(gpu, Lane::Kind::compute);
  Uploader uploader(lane);
  embed = matrix(uploader, {&tensors.embed});
  lm_head = config.tied_embeddings ? embed : matrix(uploader, {&tensors.lm_head});
  final_norm = vector(uploader, {&tensors.final_norm});
  const std::vector<float> table = rotary_table(config.rotary_dim, config.rope_theta, config.max_positions);
  float* to = room<float>(std::ssize(table));
  uploader.f32(table, to);
  cos_sin = to;
  for (int i = 0; i < config.layers; ++i)
    layers.push_back(layer(uploader, config, tensors.layers[static_cast<std::size_t>(i)], i));
}

template <class T>
T* AttentionWeights::room(std::int64_t count) {
  memory_.emplace_back(Place{gpu_, false, "the attention side's weights", "more GPUs hold larger models"},
                       static_cast<std::size_t>(count) * sizeof(T));
  return reinterpret_cast<T*>(memory_.back().data());
}

const std::uint16_t* AttentionWeights::matrix(Uploader& uploader, std::initializer_list<const nn::Tensor*> rows) {
  auto* const all = room<std::uint16_t>(count_of(rows));
  std::uint16_t* to = all;
  for (const nn::Tensor* tensor : rows) {
    uploader.bf16(*tensor, to);
    to += tensor->count();
  }
  return all;
}

const float* AttentionWeights::vector(Uploader& uploader, std::initializer_list<const nn::Tensor*> parts) {
  auto* const all = room<float>(count_of(parts));
  float* to = all;
  for (const nn::Tensor* tensor : parts) {
    uploader.f32(*tensor, to);
    to += tensor->count();
  }
  return all;
}

LayerWeights AttentionWeights::layer(Uploader& uploader, const nn::ModelConfig& config, const nn::LayerTensors& from,
                                     int index) {
  LayerWeights layer;
  layer.input_norm = vector(uploader, {&from.input_norm});
  layer.post_attention_norm = vector(uploader, {&from.post_attention_norm});
  layer.qkv = matrix(uploader, {&from.q, &from.k, &from.v});
  layer.o = matrix(uploader, {&from.o});
  layer.on_qkv.eps = config.rms_eps;
  if (from.q_bias) layer.on_qkv.bias = vector(uploader, {&*from.q_bias, &*from.k_bias, &*from.v_bias});
  if (from.q_norm) layer.on_qkv.q_norm = vector(uploader, {&*from.q_norm});
  if (from.k_norm) layer.on_qkv.k_norm = vector(uploader, {&*from.k_norm});
  if (from.gate) layer.gate = matrix(uploader, {&*from.gate});
  if (from.gate_bias) layer.gate_bias = vector(uploader, {&*from.gate_bias});
  if (const std::optional<nn::MlpTensors>& mlp = from.dense ? from.dense : from.shared) {
    const std::int32_t intermediate = own_intermediate(config, index);
    const std::int64_t bytes = slot_bytes(config, intermediate);
    auto* const to = room<std::uint16_t>(bytes / 2);
    uploader.mlp(*mlp, to);
    layer.mlp = {reinterpret_cast<const std::byte*>(to), bytes, config.hidden, intermediate};
  }
  return layer;
}

}  // namespace afore::device::cuda
