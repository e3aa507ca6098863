#pragma once
// What a model is, from flags: a preset, and single facts over it.
#include <cstdint>
#include <string>

#include "core/model_spec.h"

namespace afore::cli {

struct ModelFlags {
  std::string model, moe_layers;                                             // empty = not given
  std::int64_t experts = 0, hidden_layers = 0, expert_bytes = 0, top_k = 0;  // 0 = not given
};

// --model's preset, with --hidden-layers, --moe-layers, --experts, --expert-bytes and --top-k over it. Error{usage}.
ModelSpec model_of(const ModelFlags& flags);

// What a stream's header says with the flags' facts where it says nothing. Error{usage} where a flag says another thing
// than the header, or the preset is of another number of experts.
ModelSpec with_header(const ModelFlags& flags, const ModelSpec& header);

}  // namespace afore::cli
