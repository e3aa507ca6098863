#pragma once
// The attention side's weights on one GPU, shared by the attention workers there.
#include <deque>

#include "device/cuda/shapes.h"
#include "device/cuda/uploader.h"

namespace afore::device::cuda {

// Pointers into the GPU's memory; null where the layer has no such thing.
struct LayerWeights {
  const float *input_norm = nullptr, *post_attention_norm = nullptr;
  const std::uint16_t *qkv = nullptr, *o = nullptr;  // q | k | v rows in one matrix
  kernels::QkvWeights on_qkv;
  const std::uint16_t* gate = nullptr;  // MoE layers
  const float* gate_bias = nullptr;
  kernels::ExpertArena mlp;  // the dense MLP, or the shared experts of a MoE layer
};

class AttentionWeights {
 public:
  // Error{io}: memory; Error{data}: a value that is not finite.
  AttentionWeights(int gpu, const nn::ModelConfig& config, const nn::ModelTensors& tensors);

  const std::uint16_t* embed = nullptr;    // [vocab][hidden]
  const std::uint16_t* lm_head = nullptr;  // [vocab][hidden]; embed where tied
  const float* final_norm = nullptr;
  const float* cos_sin = nullptr;  // rotary_table()
  std::vector<LayerWeights> layers;

 private:
  template <class T>
  T* room(std::int64_t count);
  const std::uint16_t* matrix(Uploader& uploader, std::initializer_list<const nn::Tensor*> rows);
  const float* vector(Uploader& uploader, std::initializer_list<const nn::Tensor*> parts);
  LayerWeights layer(Uploader& uploader, const nn::ModelConfig& config, const nn::LayerTensors& from, int index);

  const int gpu_;
  std::deque<Memory> memory_;
};

}  // namespace afore::device::cuda
