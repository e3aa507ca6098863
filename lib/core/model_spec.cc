#include "core/model_spec.h"

#include <array>
#include <numeric>

namespace afore {
namespace {

struct Shape {
  const char* name;
  int layers, first_moe, experts, top_k, hidden, moe_intermediate;
  std::int64_t expert_bytes;
  int heads, kv_heads, head_dim, shared_experts;
  int latent_kv;  // MLA: cached values per token and layer (kv_lora_rank + rope); 0 = ordinary K and V
  std::int64_t latent_attention_bytes;  // MLA: all projections of a layer as stored; 0 = q, k, v, o in 16 bits
};

constexpr Shape kShapes[] = {
    {"glm-4.5-air", 46, 1, 128, 8, 4096, 1408, 34'603'008, 96, 8, 128, 1, 0, 0},
    {"glm-4.5", 92, 3, 160, 8, 5120, 1536, 47'185'920, 96, 8, 128, 1, 0, 0},
    {"deepseek-v3", 61, 3, 256, 8, 7168, 2048, 44'040'192, 128, 0, 128, 1, 576, 187'105'280},
    {"kimi-k2", 61, 1, 384, 8, 7168, 2048, 44'040'192, 64, 0, 128, 1, 576, 101'122'048},
    {"qwen3-30b-a3b", 48, 0, 128, 8, 2048, 768, 9'437'184, 32, 4, 128, 0, 0, 0},
    {"qwen3-235b-a22b", 94, 0, 128, 8, 4096, 1536, 37'748'736, 64, 4, 128, 0, 0, 0},
    {"mixtral-8x7b", 32, 0, 8, 2, 4096, 14336, 352'321'536, 32, 8, 128, 0, 0, 0},
    {"deepseek-moe-16b", 28, 1, 64, 6, 2048, 1408, 17'301'504, 16, 16, 128, 2, 0, 0},
    {"deepseek-v2-lite", 27, 1, 64, 6, 2048, 1408, 17'301'504, 16, 0, 128, 2, 576, 27'525'120},
    {"gpt-oss-20b", 24, 0, 32, 4, 2880, 2880, 49'766'400, 64, 8, 64, 0, 0, 0},
    {"gpt-oss-120b", 36, 0, 128, 4, 2880, 2880, 49'766'400, 64, 8, 64, 0, 0, 0},
    {"afore-tiny", 5, 1, 32, 4, 256, 64, 98'304, 8, 2, 32, 1, 0, 0},
};

ModelSpec to_spec(const Shape& s) {
  ModelSpec spec;
  spec.name = s.name;
  spec.layers = s.layers;
  spec.moe_layers.resize(s.layers - s.first_moe);
  std::iota(spec.moe_layers.begin(), spec.moe_layers.end(), s.first_moe);
  spec.experts = s.experts;
  spec.top_k = s.top_k;
  spec.hidden = s.hidden;
  spec.moe_intermediate = s.moe_intermediate;
  spec.expert_bytes = s.expert_bytes;
  const std::int64_t q_width = static_cast<std::int64_t>(s.heads) * s.head_dim;
  const std::int64_t kv_width = s.latent_kv > 0 ? s.latent_kv : 2LL * s.kv_heads * s.head_dim;
  const std::int64_t projections =
      s.latent_attention_bytes > 0 ? s.latent_attention_bytes : 2LL * s.hidden * (2 * q_width + kv_width);
  spec.attention_bytes = projections + s.shared_experts * s.expert_bytes;
  spec.kv_bytes_per_token = 2 * kv_width;
  return spec;
}

}  // namespace

std::span<const ModelSpec> model_presets() {
  static const std::vector<ModelSpec> presets = [] {
    std::vector<ModelSpec> list;
    for (const Shape& shape : kShapes) list.push_back(to_spec(shape));
    return list;
  }();
  return presets;
}

const ModelSpec* find_model_preset(const std::string& name) {
  for (const ModelSpec& preset : model_presets())
    if (preset.name == name) return &preset;
  return nullptr;
}

void fill_absent(ModelSpec& spec, const ModelSpec& preset) {
  auto fill = [](std::int64_t& value, std::int64_t from) {
    if (value == kAbsent) value = from;
  };
  if (spec.name.empty()) spec.name = preset.name;
  if (spec.moe_layers.empty()) spec.moe_layers = preset.moe_layers;
  fill(spec.layers, preset.layers);
  fill(spec.experts, preset.experts);
  fill(spec.top_k, preset.top_k);
  fill(spec.hidden, preset.hidden);
  fill(spec.moe_intermediate, preset.moe_intermediate);
  fill(spec.expert_bytes, preset.expert_bytes);
  fill(spec.attention_bytes, preset.attention_bytes);
  fill(spec.kv_bytes_per_token, preset.kv_bytes_per_token);
}

}  // namespace afore
