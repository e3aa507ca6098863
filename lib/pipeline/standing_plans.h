#pragma once
// Plan sources that copy nothing: what a placement does by itself, to tell it apart from what moving replicas adds.
#include <memory>

#include "pipeline/plan_source.h"

namespace afore::pipeline {

// The placement stands (of the stream, else everything on the primaries), and each expert's tokens go evenly to its
// replicas, d/r each and the first d mod r one more: how systems without a planner share them. Without replicas that is
// policy static. Workers cannot be lost: Error{usage}.
std::unique_ptr<PlanSource> even_plans(const ModelSpec& model, const ClusterSpec& cluster, const LayerCost& cost);

// Plans of `options.policy` for targets before step `from_step`. From then on a layer's map stands as those plans left
// it, and its targets are split exactly over it. `emit` sees every plan. Where a map is found half-way through a
// rearrangement, an expert whole in no slot of its own, its layer is held from the first target at which none is.
std::unique_ptr<PlanSource> held_plans(const ModelSpec& model, const ClusterSpec& cluster, const LayerCost& cost,
                                       const PlannerOptions& options, std::int64_t from_step,
                                       std::function<void(const PlannedTarget&)> emit);

// Options under which a planner splits exactly over what stands and never copies.
PlannerOptions exact_split(PlannerOptions options);

}  // namespace afore::pipeline
