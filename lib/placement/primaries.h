#pragma once
// Where a layer's primaries go when weights are loaded, from what its experts had to do before.
#include <cstdint>
#include <span>

#include "core/placement.h"

namespace afore::placement {

// `loads`: [targets][experts], what each expert costs the worker that computes it (per_tile*tiles + per_expert, 0
// without tiles); may be empty. Longest processing time first on the experts' sums, at most ceil(experts / workers)
// primaries per worker, then exchanges of two primaries while the sum over targets of the largest worker load falls.
// Slots beyond the primaries stay empty; a worker's primaries stand in its first slots in expert order.
LayerPlacement balance_primaries(std::span<const std::int64_t> loads, int experts, int workers, int redundant_slots);

}  // namespace afore::placement
