#pragma once
// The main job of afore-plan: demand in, plans out, everything else passed through.
#include <string>

#include "common/planning.h"

namespace afore::plan {

struct PlanFlags {
  cli::PlanningFlags planning;
  std::string input = "-";
  std::string recover = "tail";
  std::string only;     // emit just records of this kind
  std::string explain;  // STEP:LAYER:MICROBATCH
  bool summary = false;
  bool timing = false;
  bool replan = false;
  bool allow_drop = false;
};

void plan_stream(const PlanFlags& flags);

}  // namespace afore::plan
