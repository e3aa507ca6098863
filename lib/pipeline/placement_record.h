#pragma once
// A layer's map as it stands in a stream, checked before anything relies on it.
#include "core/placement.h"
#include "core/records.h"

namespace afore::pipeline {

// Error{data}: the map is not `workers` x slots_per_worker, names an unknown expert, or leaves one without a replica.
LayerPlacement placement_from(const PlacementRecord& record, int experts, int workers);

}  // namespace afore::pipeline
