#pragma once
// Which public model shape a recorded model name means.
#include <string>

#include "core/model_spec.h"

namespace afore::trace {

// The preset with the longest name that occurs in `model_name` (case ignored): "openai/gpt-oss-20b" and
// "deepseek-ai/ESFT-vanilla-lite (DeepSeek-V2-Lite)" are known. nullptr when none occurs.
const ModelSpec* match_preset(const std::string& model_name);

// The model of a recorded file: experts, top_k and layers are the file's, sizes come from `preset` (may be nullptr).
// Recorded layers get absolute indices from `moe_layers`, else from the preset when it has as many MoE layers, else
// 0, 1, 2 …
ModelSpec recorded_model(const std::string& model_name, int recorded_layers, const std::vector<int>& moe_layers,
                         int experts, int top_k, const ModelSpec* preset);

}  // namespace afore::trace
