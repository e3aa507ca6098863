#pragma once
// DeepSeek's expert-parallel load balancer (github.com/deepseek-ai/EPLB, MIT), re-stated: replicate the heaviest
// expert per replica until the slots are full, then pack, heaviest first, onto the lightest worker with room.
// Equal to the published code on its own example and on the vectors of tests/placement; ties go to the lower index
// (the original's sort is not stable, so its order among equals is unspecified).
#include <cstdint>
#include <span>
#include <vector>

#include "core/placement.h"

namespace afore::placement {

struct EplbOptions {
  int replicas = 0;  // physical experts in all; a multiple of workers
  int groups = 1;    // expert groups; hierarchical when groups % nodes == 0, else global, as the original
  int nodes = 1;
  int workers = 1;
  bool allow_duplicates = true;  // false repairs its flaw of two replicas of one expert on one worker
};

// weight: load per logical expert (float32 inside, as the original). Result: logical expert of each physical slot,
// worker-major. Errors{usage} name the divisibility rule that fails.
std::vector<int> eplb_physical_to_logical(std::span<const double> weight, const EplbOptions& options);

}  // namespace afore::placement
