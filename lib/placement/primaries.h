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
// `earlier`, by worker: the sums of the layers balanced before, to which this layer's are added. The group of experts
// with the largest sum goes to the worker with the least so far: workers do not wait for each other inside a target,
// so one that had the largest group of every layer would be late for all of them.
LayerPlacement balance_primaries(std::span<const std::int64_t> loads, int experts, int workers, int redundant_slots,
                                 std::span<std::int64_t> earlier);

}  // namespace afore::placement
