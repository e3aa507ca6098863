#include "nn/config.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string_view>

#include "nn/json.h"
#include "nn/mapped_file.h"
#include "util/error.h"

namespace afore::nn {
namespace {

namespace fs = std::filesystem;

// Bounds that no model comes near and whose products stay within 64 bits.
constexpr std::int64_t kMaxWidth = 1 << 20, kMaxIds = 1 << 24, kMaxLayers = 1024, kMaxHeads = 4096, kMaxExperts = 4096;

int size_at(const JsonView& root, std::string_view key, std::int64_t max) {
  return static_cast<int>(root.at(key).integer(1, max));
}

// What an architecture is called, and the defaults of its transformers class where a config may leave a key out
// (transformers 4.57 and 5.0: configuration_{glm4_moe,qwen3_moe,mixtral}.py).
struct Family {
  Architecture architecture;
  const char *name, *model_type;
  double rope_theta, rotary_factor;
  double rms_eps;
};

constexpr Family kFamilies[] = {
    {Architecture::glm4_moe, "Glm4MoeForCausalLM", "glm4_moe", 10000, 0.5, 1e-5},
    {Architecture::qwen3_moe, "Qwen3MoeForCausalLM", "qwen3_moe", 10000, 1, 1e-6},
    {Architecture::mixtral, "MixtralForCausalLM", "mixtral", 1e6, 1, 1e-5},
};

const Family& read_family(const JsonView& root) {
  const JsonView names = root.at("architectures");
  if (names.size() != 1) names.fail(fmt::format("expected one architecture, found {}", names.size()));
  for (const Family& family : kFamilies) {
    if (names.item(0).string() != family.name) continue;
    const JsonView type = root.find("model_type");
    if (type && type.string() != family.model_type)
      type.fail(fmt::format("{} does not go with {}", type.shown(), family.name));
    return family;
  }
  names.item(0).fail(names.item(0).shown() + " is not computed",
                     "Glm4MoeForCausalLM, Qwen3MoeForCausalLM and MixtralForCausalLM are");
}

// Fails where `key` is present and is none of `computed`.
void require_one_of(const JsonView& root, std::string_view key, std::initializer_list<std::string_view> computed) {
  const JsonView value = root.find(key);
  if (!value) return;
  for (const std::string_view known : computed)
    if (value.string() == known) return;
  value.fail(value.shown() + " is not computed", fmt::format("{} is", fmt::join(computed, ", ")));
}

void refuse_what_is_not_computed(const JsonView& root, const ModelConfig& config) {
  require_one_of(root, "hidden_act", {"silu"});
  require_one_of(root, "dtype", {"bfloat16", "float16", "float32"});
  require_one_of(root, "torch_dtype", {"bfloat16", "float16", "float32"});
  const JsonView quantization = root.find("quantization_config");
  if (quantization) quantization.fail("quantized weights are not computed", "use a checkpoint with bf16 weights");

  const JsonView layer_types = root.find("layer_types");
  for (std::size_t i = 0; layer_types && i < layer_types.size(); ++i)
    if (layer_types.item(i).string() != "full_attention")
      layer_types.item(i).fail(layer_types.item(i).shown() + " is not computed", "full_attention is");

  // Qwen3-MoE ignores the window unless it is switched on; Mixtral has no switch; GLM has no window.
  const JsonView window = root.find("sliding_window");
  const bool on = config.architecture == Architecture::mixtral ||
                  (config.architecture == Architecture::qwen3_moe && root.find("use_sliding_window").boolean(false));
  if (window && on && window.integer(1, INT64_MAX) < config.max_positions)
    window.fail(
        fmt::format("a window of {} positions out of {} is not computed", window.shown(), config.max_positions));
}

void read_sizes(const JsonView& root, ModelConfig& config) {
  config.layers = size_at(root, "num_hidden_layers", kMaxLayers);
  config.hidden = size_at(root, "hidden_size", kMaxWidth);
  config.vocab = size_at(root, "vocab_size", kMaxIds);
  config.max_positions = size_at(root, "max_position_embeddings", kMaxIds);
}

void read_attention(const JsonView& root, ModelConfig& config) {
  config.heads = size_at(root, "num_attention_heads", kMaxHeads);
  const JsonView kv_heads = root.at("num_key_value_heads");
  config.kv_heads = kv_heads.is_null() ? config.heads : static_cast<int>(kv_heads.integer(1, kMaxHeads));
  if (config.heads % config.kv_heads != 0)
    kv_heads.fail(fmt::format("{} heads of keys do not divide {} heads", config.kv_heads, config.heads));
  const JsonView head_dim = root.find("head_dim");
  if (!head_dim && config.hidden % config.heads != 0)
    root.at("hidden_size").fail(fmt::format("{} is no multiple of {} heads", config.hidden, config.heads));
  config.head_dim = static_cast<int>(head_dim.integer(1, kMaxHeads, config.hidden / config.heads));

  config.qk_norm = config.architecture == Architecture::qwen3_moe;
  if (config.architecture == Architecture::glm4_moe) config.qk_norm = root.find("use_qk_norm").boolean(false);
  const JsonView bias = root.find("attention_bias");
  if (config.architecture != Architecture::mixtral) config.attention_bias = bias.boolean(false);
  if (config.attention_bias && config.architecture == Architecture::qwen3_moe)
    bias.fail("true is not computed", "in Qwen3MoeForCausalLM the output projection would have a bias, too");
}

// What transformers 4 writes at the top and transformers 5 into rope_parameters; a false view where neither is there.
JsonView rope_value(const JsonView& root, const JsonView& nested, std::string_view key) {
  const JsonView outer = root.find(key), inner = nested ? nested.find(key) : nested;
  if (outer && inner && outer.number() != inner.number())
    inner.fail(fmt::format("{}, but /{} is {}", inner.shown(), key, outer.shown()));
  return inner ? inner : outer;
}

void read_rope(const JsonView& root, const Family& family, ModelConfig& config) {
  const JsonView parameters = root.find("rope_parameters");
  for (const JsonView& rope : {parameters, root.find("rope_scaling")}) {
    if (!rope) continue;
    if (!rope.is_object()) rope.fail(fmt::format("expected an object, found {}", rope.shown()));
    require_one_of(rope, "rope_type", {"default"});
    require_one_of(rope, "type", {"default"});
    for (const auto& [key, value] : rope.json().items())
      if (value.is_object()) rope.at(key).fail("rotary parameters by the type of layer are not computed");
  }
  const JsonView theta = rope_value(root, parameters, "rope_theta");
  config.rope_theta = theta.number(family.rope_theta);
  if (!(config.rope_theta >= 1)) theta.fail(theta.shown() + " is below 1");
  const JsonView partial = rope_value(root, parameters, "partial_rotary_factor");
  const double factor = partial.number(family.rotary_factor);
  if (!(factor > 0 && factor <= 1)) partial.fail(partial.shown() + " is not in (0, 1]");
  if (factor != 1 && family.rotary_factor == 1)
    partial.fail(fmt::format("{} is not computed in {}", partial.shown(), family.name));
  config.rotary_dim = static_cast<int>(config.head_dim * factor);
  if (config.rotary_dim < 2 || config.rotary_dim % 2 != 0)
    root.fail(fmt::format("/head_dim: {} * {} rotated dimensions are no even number", config.head_dim, factor));
}

// transformers, Qwen3MoeDecoderLayer: MoE where the layer is not listed and (layer + 1) % decoder_sparse_step == 0.
std::vector<bool> qwen3_moe_layers(const JsonView& root, int layers) {
  const std::int64_t step = root.find("decoder_sparse_step").integer(1, kMaxLayers, 1);
  std::vector<bool> is_moe(static_cast<std::size_t>(layers));
  for (std::size_t layer = 0; layer < is_moe.size(); ++layer)
    is_moe[layer] = (layer + 1) % static_cast<std::size_t>(step) == 0;
  const JsonView dense = root.find("mlp_only_layers");
  for (std::size_t i = 0; dense && i < dense.size(); ++i)
    is_moe[static_cast<std::size_t>(dense.item(i).integer(0, layers - 1))] = false;
  return is_moe;
}

void read_layers(const JsonView& root, ModelConfig& config) {
  config.is_moe.assign(static_cast<std::size_t>(config.layers), true);
  if (config.architecture == Architecture::qwen3_moe) config.is_moe = qwen3_moe_layers(root, config.layers);
  if (config.architecture == Architecture::glm4_moe) {
    const std::int64_t dense = root.find("first_k_dense_replace").integer(0, config.layers, 1);
    std::fill_n(config.is_moe.begin(), dense, false);
  }
  std::int64_t moe_layers = 0;
  for (const bool moe : config.is_moe) moe_layers += moe;
  if (moe_layers == 0) root.fail("no layer has experts");
  if (moe_layers < config.layers) config.dense_intermediate = size_at(root, "intermediate_size", kMaxWidth);
}

void read_groups(const JsonView& root, GateConfig& gate) {
  const JsonView groups = root.find("n_group"), top = root.find("topk_group");
  gate.groups = static_cast<int>(groups.integer(1, gate.experts, 1));
  gate.top_groups = static_cast<int>(top.integer(1, gate.groups, 1));
  if (gate.groups == 1) return;
  // Groups are ranked by the sum of their two best scores.
  if (gate.experts % gate.groups != 0 || gate.experts / gate.groups < 2)
    groups.fail(
        fmt::format("{} groups do not split {} experts into equal ones of two or more", gate.groups, gate.experts));
  const int competing = gate.experts / gate.groups * gate.top_groups;
  if (competing < gate.top_k)
    top.fail(fmt::format("{} groups have {} experts, {} are to be chosen", gate.top_groups, competing, gate.top_k));
}

void read_gate(const JsonView& root, ModelConfig& config) {
  GateConfig& gate = config.gate;
  const char* experts_key = "num_local_experts";  // Mixtral; Qwen3-MoE as transformers 5 writes it
  if (config.architecture == Architecture::glm4_moe) experts_key = "n_routed_experts";
  if (config.architecture == Architecture::qwen3_moe && root.find("num_experts")) experts_key = "num_experts";
  gate.experts = size_at(root, experts_key, kMaxExperts);
  gate.top_k = size_at(root, "num_experts_per_tok", gate.experts);
  const char* width = config.architecture == Architecture::mixtral ? "intermediate_size" : "moe_intermediate_size";
  config.moe_intermediate = size_at(root, width, kMaxWidth);

  if (config.architecture == Architecture::mixtral) return;  // softmax, always normalized
  const JsonView normalize = root.find("norm_topk_prob");
  gate.normalize = normalize.boolean(config.architecture == Architecture::glm4_moe);
  if (config.architecture == Architecture::qwen3_moe) return;
  gate.rule = GateConfig::Rule::sigmoid_bias;
  read_groups(root, gate);
  const JsonView scaling = root.find("routed_scaling_factor");
  gate.scaling = static_cast<float>(scaling.number(1));
  if (!(gate.scaling > 0) || !std::isfinite(gate.scaling)) scaling.fail(scaling.shown() + " is no scaling factor");
  const std::int64_t shared = root.find("n_shared_experts").integer(0, 64, 1);
  config.shared_intermediate = static_cast<int>(config.moe_intermediate * shared);
}

// Absent where the file does not say.
std::optional<std::vector<int>> read_eos(const JsonView& root, int vocab) {
  const JsonView eos = root.find("eos_token_id");
  if (!eos) return std::nullopt;
  std::vector<int> ids;
  if (!eos.is_array()) return std::vector<int>{static_cast<int>(eos.integer(0, vocab - 1))};
  for (std::size_t i = 0; i < eos.size(); ++i) ids.push_back(static_cast<int>(eos.item(i).integer(0, vocab - 1)));
  return ids;
}

std::vector<int> read_eos_ids(const JsonView& root, const fs::path& generation, int vocab) {
  std::error_code ignored;
  if (fs::exists(generation, ignored)) {
    const MappedFile file(generation);
    const Json tree = parse_json(file.text(), file.name());
    if (const auto ids = read_eos(JsonView(tree, file.name()), vocab)) return *ids;
  }
  return read_eos(root, vocab).value_or(std::vector<int>());
}

// "models/tiny", "models/tiny/" and "." within it are all "tiny".
std::string name_of(const fs::path& folder) {
  std::error_code ignored;
  fs::path whole = fs::absolute(folder, ignored).lexically_normal();
  if (!whole.has_filename()) whole = whole.parent_path();
  return whole.filename().string();
}

}  // namespace

ModelConfig read_config(const fs::path& folder) {
  const MappedFile file(folder / "config.json");
  const Json tree = parse_json(file.text(), file.name());
  const JsonView root(tree, file.name());
  const Family& family = read_family(root);
  ModelConfig config;
  config.architecture = family.architecture;
  config.name = name_of(folder);
  read_sizes(root, config);
  refuse_what_is_not_computed(root, config);
  read_attention(root, config);
  read_rope(root, family, config);
  read_layers(root, config);
  read_gate(root, config);
  const JsonView eps = root.find("rms_norm_eps");
  config.rms_eps = static_cast<float>(eps.number(family.rms_eps));
  if (!(config.rms_eps > 0 && config.rms_eps < 1)) eps.fail(eps.shown() + " is not in (0, 1)");
  config.tied_embeddings = root.find("tie_word_embeddings").boolean(false);
  config.eos_ids = read_eos_ids(root, folder / "generation_config.json", config.vocab);
  return config;
}

ModelSpec model_spec(const ModelConfig& config) {
  constexpr std::int64_t kBf16Bytes = 2, kF32Bytes = 4;
  const std::int64_t hidden = config.hidden;
  const std::int64_t q_width = std::int64_t{config.heads} * config.head_dim;
  const std::int64_t kv_width = std::int64_t{2} * config.kv_heads * config.head_dim;  // keys and values
  ModelSpec spec;
  spec.name = config.name;
  spec.layers = config.layers;
  for (int layer = 0; layer < config.layers; ++layer)
    if (config.is_moe[static_cast<std::size_t>(layer)]) spec.moe_layers.push_back(layer);
  spec.experts = config.gate.experts;
  spec.top_k = config.gate.top_k;
  spec.hidden = hidden;
  spec.moe_intermediate = config.moe_intermediate;
  spec.expert_bytes = kBf16Bytes * 3 * hidden * config.moe_intermediate;
  spec.attention_bytes = kBf16Bytes * hidden * (2 * q_width + kv_width + 3 * config.shared_intermediate);
  spec.kv_bytes_per_token = kF32Bytes * kv_width;
  return spec;
}

}  // namespace afore::nn
