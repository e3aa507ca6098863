#pragma once
// A model's matrices in 4 bits (nn/quantised.h), unpacked to where the kernels read them just before they do. Norms,
// biases, gates and the embedding are not among them: those stay as they are stored.
#include <cstdint>
#include <span>
#include <vector>

#include "device/cpu/weights.h"
#include "nn/quantised.h"

namespace afore::device::cpu {

class ThreadPool;

// A packed matrix (packed.h), of packed_bytes(n, k), from its codes.
void unpack(const nn::QuantisedMatrix& matrix, std::byte* out);

class QuantisedWeights {
 public:
  // With 128 a replica of the bundled model is 0.5% of the model smaller, and its recall 0.3 points lower.
  static constexpr int kGroup = 64;

  // Of all that a step reads up to its last gate: what lies behind that is left out. `pool` may be null, here and
  // below.
  QuantisedWeights(const nn::Model& model, ThreadPool* pool);

  // qkv, o and mlp of a layer. Blocks that are large enough are written over, others made.
  void unpack_layer(int layer, AttentionLayer& out, ThreadPool* pool) const;
  // Experts of a MoE layer before the last one, one block after the other.
  void unpack_experts(int layer, std::span<const int> experts, std::byte* out, ThreadPool* pool) const;

  std::int64_t bytes() const;

 private:
  struct Mlp {
    nn::QuantisedMatrix gate, up, down;
  };
  struct Layer {
    nn::QuantisedMatrix qkv, o;
    std::vector<Mlp> mlp;  // one or none
    std::vector<Mlp> experts;
  };
  struct Source {  // the rows of some tensors, one after the other
    std::vector<const nn::Tensor*> tensors;
    nn::QuantisedMatrix* to = nullptr;
  };
  static void add(const nn::MlpTensors& from, Mlp& to, std::vector<Source>& sources);

  nn::ModelConfig config_;
  std::vector<Layer> layers_;
};

}  // namespace afore::device::cpu
