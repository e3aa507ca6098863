#pragma once
// EPLB as a serving system runs it: every `interval_steps` steps new maps for all layers from the load of the last
// `window_steps` steps; layers change one after another, in place, under a byte budget per step; tokens are split
// evenly over replicas. New replicas are used from the next step on, so that their copies hide. The balancer knows
// neither draining workers nor pinned experts: it moves what it likes.
#include <memory>

#include "pipeline/planner.h"

namespace afore::pipeline {

std::unique_ptr<BackgroundPolicy> make_eplb_background(const PlannerOptions& options, const ClusterSpec& cluster,
                                                       const LayerCost& cost);

}  // namespace afore::pipeline
