#pragma once
// --cost and --model: machines and models by name.
#include <string>

#include "core/cost_model.h"
#include "core/model_spec.h"

namespace afore::cli {

// --cost a100|h100|h200|FILE
HardwareProfile load_cost(const std::string& name_or_path);
// --model PRESET; Error{usage} lists the presets.
const ModelSpec& load_model_preset(const std::string& name, const std::string& flag = "--model");

}  // namespace afore::cli
