#include "host/replica.h"

#include <algorithm>

namespace afore::host {
namespace {

// Experts are unpacked and computed in lots of at most so much memory.
constexpr std::size_t kExpertRoomBytes = std::size_t{64} << 20;

}  // namespace

Replica::Replica(const nn::Model& model, device::cpu::Isa isa, std::shared_ptr<device::cpu::ThreadPool> pool,
                 std::int64_t kv_pages, bool with_experts)
    : pool_(std::move(pool)),
      with_experts_(with_experts),
      moe_layers_(nn::model_spec(model.config).moe_layers),
      quantised_(model, pool_.get()),
      weights_(model, device::cpu::AttentionWeights::Matrices::left_out),
      rotary_(model.config.rotary_dim, model.config.rope_theta, model.config.max_positions),
      side_(device::cpu::Kernels::of(isa), weights_, rotary_, kv_pages, device::Combine::exact, 1, pool_),
      experts_(device::cpu::Kernels::of(isa), device::cpu::expert_shape(model.config), model.config.gate.top_k,
               pool_.get()) {
  const std::size_t one = device::cpu::expert_shape(model.config).bytes();
  const std::size_t lot =
      std::clamp<std::size_t>(kExpertRoomBytes / one, 1, model.tensors.layers[moe_layers_[0]].experts.size());
  expert_room_ = device::cpu::Block(lot * one);
  weight_bytes_ = quantised_.bytes() + std::ssize(model.tensors.embed.bytes);
  for (int layer = 0; layer <= moe_layers_.back(); ++layer)
    weight_bytes_ += nn::small_bytes(model.tensors.layers[layer]);
}

void Replica::at_step(const device::cpu::StepState& step, std::int64_t step_number, int microbatch,
                      std::vector<Prediction>& out) {
  state_.slices = step.slices;
  state_.slots = step.slots;
  state_.token_ids = step.token_ids;
  side_.begin(state_);  // the slices have their pages from the model's own begin(), so this takes none
  for (const int layer : moe_layers_) {
    to_gate(layer);
    out.push_back(prediction_of({step_number, layer, microbatch}, "replica", kAbsent, state_.experts,
                                weights_.config.gate, with_experts_));
    if (layer != moe_layers_.back()) experts(layer);
  }
}

// With the dense layers before it. Matrices are there only while they are read.
void Replica::to_gate(int layer) {
  const int first = state_.next_layer;
  if (const auto count = static_cast<std::size_t>(layer + 1 - first); room_.size() < count) room_.resize(count);
  const auto lend = [&] {
    for (int i = first; i <= layer; ++i) {
      device::cpu::AttentionLayer &mine = weights_.layers[i], &spare = room_[i - first];
      std::swap(mine.qkv, spare.qkv);
      std::swap(mine.o, spare.o);
      std::swap(mine.mlp, spare.mlp);
    }
  };
  lend();
  for (int i = first; i <= layer; ++i) quantised_.unpack_layer(i, weights_.layers[i], pool_.get());
  side_.to_gate(state_, layer);
  lend();  // and back
}

void Replica::experts(int layer) {
  const std::size_t one = device::cpu::expert_shape(weights_.config).bytes();
  const std::size_t lot = expert_room_.bytes() / one;
  asked_.clear();
  for (int e = 0; e < weights_.config.gate.experts; ++e)
    if (state_.counts[e] > 0) asked_.push_back(e);
  device::Step* part = &state_;
  for (std::size_t done = 0; done < asked_.size(); done += lot) {
    const auto some = std::span(asked_).subspan(done, std::min(lot, asked_.size() - done));
    quantised_.unpack_experts(layer, some, expert_room_.data(), pool_.get());
    shares_.clear();
    for (std::size_t i = 0; i < some.size(); ++i)
      shares_.push_back({some[i], 0, state_.counts[some[i]], expert_room_.data() + i * one});
    experts_.run({&part, 1}, shares_, device::Combine::exact, 0);
  }
  side_.combine(state_, {});
}

}  // namespace afore::host
