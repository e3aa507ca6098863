#pragma once
// afore_config as the planner takes it.
#include "c/afore.h"
#include "core/cost_model.h"
#include "core/model_spec.h"
#include "pipeline/planner.h"

namespace afore::c {

struct Resolved {
  ModelSpec model;
  ClusterSpec cluster;
  LayerCost cost;
  pipeline::PlannerOptions planner;
};

// Error{usage} or Refusal for what cannot be planned with.
Resolved resolve(const afore_config& config);

}  // namespace afore::c
