#pragma once
// What `afore-plan place`, `export` and `check` share: what the model is where neither stream nor file says it, and how
// much memory redundancy takes.
#include <cstdint>
#include <string>

#include "common/model_flags.h"
#include "common/options.h"
#include "core/model_spec.h"

namespace afore::plan {

void add_model_flags(cli::Command app, cli::ModelFlags& flags);

// "32 redundant slots per layer: 1.312 GiB x 58 layers = 76.12 GiB in all, 2.379 GiB per worker".
// `slots`: of one layer; expert_bytes kAbsent: says what is missing.
std::string redundancy_text(std::int64_t slots, std::int64_t experts, std::int64_t workers, std::int64_t moe_layers,
                            std::int64_t expert_bytes);

}  // namespace afore::plan
