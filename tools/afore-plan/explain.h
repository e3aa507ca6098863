#pragma once
// Why a target was planned as it was, in words.
#include <string>

#include "common/planning.h"
#include "core/records.h"

namespace afore::plan {

Target parse_target(const std::string& text);  // STEP:LAYER:MICROBATCH; Error{usage}

// `before`: the layer's placement before the plan's copies.
std::string explain(const Plan& plan, const Demand& demand, const LayerPlacement& before, const cli::Setup& setup);

}  // namespace afore::plan
