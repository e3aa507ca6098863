#pragma once
// What `afore-plan place`, `export` and `check` share: what the model is where neither stream nor file says it, and how
// much memory redundancy takes.
#include <cstdint>
#include <string>

#include "common/cli.h"
#include "core/model_spec.h"

namespace afore::plan {

struct ModelFlags {
  std::string model, moe_layers;                                  // empty = not given
  std::int64_t experts = 0, hidden_layers = 0, expert_bytes = 0;  // 0 = not given
};
void add_model_flags(CLI::App& app, ModelFlags& flags);
// --model's preset, with the other flags over it.
ModelSpec model_of(const ModelFlags& flags);

// "1 slot per worker and layer beyond one per expert: 42.0 MiB x 58 layers = 2.38 GiB per worker, 76.1 GiB in all".
// `slots`: of one layer; expert_bytes kAbsent: says what is missing.
std::string redundancy_text(std::int64_t slots, std::int64_t experts, std::int64_t workers, std::int64_t moe_layers,
                            std::int64_t expert_bytes);

std::string counted(std::int64_t count, const char* one);  // "1 layer", "3 layers"

}  // namespace afore::plan
