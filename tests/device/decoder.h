#pragma once
// A whole model on one thread for tests: token ids in, logits and experts of every position out.
#include <algorithm>
#include <filesystem>
#include <vector>

#include "device/cpu/expert_side.h"

namespace afore::device::cpu {

struct DecoderModel {
  explicit DecoderModel(const std::filesystem::path& folder)
      : model(nn::open_model(folder)),
        weights(model),
        rotary(model.config.rotary_dim, model.config.rope_theta, model.config.max_positions) {
    for (int layer = 0; layer < model.config.layers; ++layer) {
      if (!model.config.is_moe[layer]) continue;
      moe_layers.push_back(layer);
      for (int e = 0; e < model.config.gate.experts; ++e) {
        blocks.emplace_back(expert_shape(model.config).bytes());
        load_expert(model, layer, e, blocks.back().data());
      }
    }
  }
  nn::Model model;
  AttentionWeights weights;
  RotaryTable rotary;
  std::vector<int> moe_layers;
  std::vector<Block> blocks;
};

class Decoder {
 public:
  Decoder(const DecoderModel& model, Isa isa)
      : model_(model),
        side_(Kernels::of(isa), model.weights, model.rotary, 64, Combine::exact, 1, nullptr),
        experts_(Kernels::of(isa), expert_shape(model.model.config), model.model.config.gate.top_k, nullptr) {}

  struct Position {
    std::vector<float> logits;
    std::vector<std::vector<int>> experts;  // by MoE layer, ascending
  };
  // The next tokens of the one sequence, all in one step.
  std::vector<Position> feed(const std::vector<int>& ids) {
    StepState step;
    step.token_ids = ids;
    for (std::size_t i = 0; i < ids.size(); ++i)
      step.slices.push_back({&pages_, position_ + static_cast<std::int64_t>(i), 1, true, {}, 0});
    position_ += static_cast<std::int64_t>(ids.size());
    std::vector<Position> out(ids.size());
    side_.begin(step);
    for (std::size_t ordinal = 0; ordinal < model_.moe_layers.size(); ++ordinal) run_layer(step, ordinal, out);
    side_.sample(step);
    const std::size_t vocab = static_cast<std::size_t>(model_.model.config.vocab);
    for (std::size_t i = 0; i < ids.size(); ++i)
      out[i].logits.assign(side_.logits().begin() + i * vocab, side_.logits().begin() + (i + 1) * vocab);
    return out;
  }

 private:
  void run_layer(StepState& step, std::size_t ordinal, std::vector<Position>& out) {
    const nn::GateConfig& gate = model_.model.config.gate;
    side_.to_gate(step, model_.moe_layers[ordinal]);
    std::vector<PackedShare> shares;
    for (int e = 0; e < gate.experts; ++e)
      if (step.counts[e] > 0)
        shares.push_back({e, 0, step.counts[e], model_.blocks[ordinal * gate.experts + e].data()});
    Step* part = &step;
    experts_.run({&part, 1}, shares, Combine::exact, 0);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto first = step.experts.begin() + static_cast<std::int64_t>(i) * gate.top_k;
      out[i].experts.emplace_back(first, first + gate.top_k);
      std::sort(out[i].experts.back().begin(), out[i].experts.back().end());
    }
    side_.combine(step, {});
  }

  const DecoderModel& model_;
  AttentionSide side_;
  ExpertSide experts_;
  std::vector<std::int32_t> pages_;
  std::int64_t position_ = 0;
};

inline std::vector<Isa> supported_isas() {
  std::vector<Isa> isas;
  for (const Isa isa : {Isa::scalar, Isa::avx2, Isa::avx512bf16})
    if (is_supported(isa)) isas.push_back(isa);
  return isas;
}

}  // namespace afore::device::cpu
