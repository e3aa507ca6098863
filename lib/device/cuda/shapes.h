#pragma once
// What the kernels need to know of a model, and which models they refuse.
#include "device/device.h"
#include "kernels/attention.h"
#include "kernels/expert_ffn.h"
#include "kernels/gate.h"
#include "nn/config.h"

namespace afore::device::cuda {

// What a slot takes of an arena: kernels want experts aligned to 256 bytes.
constexpr std::int64_t slot_stride(std::int64_t slot_bytes) { return (slot_bytes + 255) / 256 * 256; }

// Error{usage} that names the value and the limit.
void check_shapes(const nn::ModelConfig& config, const DeviceOptions& options);

kernels::AttentionShape attention_shape(const nn::ModelConfig& config);
kernels::GateRule gate_rule(const nn::ModelConfig& config);

// Of an expert's slot, or of a dense MLP.
std::int64_t slot_bytes(const nn::ModelConfig& config, std::int32_t intermediate);
// Of the MLP that runs on the attention worker in a layer: dense, or the shared experts; 0 = none.
std::int32_t own_intermediate(const nn::ModelConfig& config, int layer);

}  // namespace afore::device::cuda
