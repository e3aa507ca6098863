#include "trace/preset_match.h"

#include <algorithm>
#include <numeric>

namespace afore::trace {

const ModelSpec* match_preset(const std::string& model_name) {
  std::string lower = model_name;
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  const ModelSpec* best = nullptr;
  for (const ModelSpec& preset : model_presets())
    if (lower.find(preset.name) != std::string::npos && (best == nullptr || preset.name.size() > best->name.size()))
      best = &preset;
  return best;
}

ModelSpec recorded_model(const std::string& model_name, int recorded_layers, const std::vector<int>& moe_layers,
                         int experts, int top_k, const ModelSpec* preset) {
  ModelSpec model;
  model.name = preset != nullptr ? preset->name : model_name;
  model.experts = experts;
  model.top_k = top_k;
  const bool same_count = preset != nullptr && static_cast<int>(preset->moe_layers.size()) == recorded_layers;
  if (!moe_layers.empty()) {
    model.moe_layers = moe_layers;
  } else if (same_count) {
    model.moe_layers = preset->moe_layers;
  } else {
    model.moe_layers.resize(recorded_layers);
    std::iota(model.moe_layers.begin(), model.moe_layers.end(), 0);
  }
  const std::int64_t at_least = model.moe_layers.back() + 1;
  model.layers = same_count ? std::max(preset->layers, at_least) : at_least;
  if (preset != nullptr) fill_absent(model, *preset);
  return model;
}

}  // namespace afore::trace
