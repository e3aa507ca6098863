#pragma once
// Applying a split made for guessed demand to the true demand.
#include <cstdint>
#include <span>
#include <vector>

#include "core/assignment.h"
#include "core/placement.h"

namespace afore::demand {

// Each expert's true tiles are cut in the proportions of its guessed tiles (cumulative rounding, so they sum exactly);
// experts the guess did not see go to their primary, or to who stands in for it where workers drain. `guess` covers
// guess tiles; result is sorted and positive.
std::vector<TileShare> project_shares(std::span<const TileShare> guess, std::span<const std::int64_t> true_tiles,
                                      const LayerPlacement& placement, std::span<const WorkerTraits> traits = {});

}  // namespace afore::demand
