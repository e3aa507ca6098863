#include "device/cuda/shapes.h"

#include <fmt/format.h>

#include "util/error.h"

namespace afore::device::cuda {
namespace {

constexpr int kMostHeadDim = 256;  // kernels/attention.h

void refuse(const std::string& fact) {
  throw Error(ErrorKind::usage, "the CUDA device does not compute this model: " + fact, "use --device cpu");
}

void check_multiple(const char* name, std::int64_t value, std::int64_t of) {
  if (value % of != 0) refuse(fmt::format("{} is {}, not a multiple of {}", name, value, of));
}

void check_most(const char* name, std::int64_t value, std::int64_t most) {
  if (value > most) refuse(fmt::format("{} is {}, more than {}", name, value, most));
}

}  // namespace

void check_shapes(const nn::ModelConfig& config, const DeviceOptions& options) {
  check_multiple("hidden_size", config.hidden, 8);
  check_multiple("moe_intermediate_size", config.moe_intermediate, 8);
  check_multiple("the shared experts' width", config.shared_intermediate, 8);
  check_multiple("intermediate_size", config.dense_intermediate, 8);
  check_multiple("head_dim", config.head_dim, 8);
  check_most("head_dim", config.head_dim, kMostHeadDim);
  check_multiple("num_attention_heads", config.heads, config.kv_heads);
  check_most("the number of experts", config.gate.experts, kernels::kMostExperts);
  check_most("num_experts_per_tok", config.gate.top_k, kernels::kMostTopK);
  if (!kernels::is_tile(options.tile_tokens))
    throw Error(ErrorKind::usage, fmt::format("the CUDA device has no tile of {} tokens", options.tile_tokens),
                "its tiles are 16, 32 and 64");
}

kernels::AttentionShape attention_shape(const nn::ModelConfig& config) {
  return {config.heads, config.kv_heads, config.head_dim, config.rotary_dim};
}

kernels::GateRule gate_rule(const nn::ModelConfig& config) {
  const nn::GateConfig& gate = config.gate;
  return {gate.rule == nn::GateConfig::Rule::sigmoid_bias,
          gate.experts,
          gate.top_k,
          gate.groups,
          gate.top_groups,
          gate.normalize,
          gate.scaling};
}

std::int64_t slot_bytes(const nn::ModelConfig& config, std::int32_t intermediate) {
  return slot_stride(kernels::expert_bytes(config.hidden, intermediate));
}

std::int32_t own_intermediate(const nn::ModelConfig& config, int layer) {
  return config.is_moe[static_cast<std::size_t>(layer)] ? config.shared_intermediate : config.dense_intermediate;
}

}  // namespace afore::device::cuda
