#pragma once
// One target's split over fixed replicas, as the searches see it: nothing about copies.
// A worker's load is in ns without c0. With slowdown s (thousandths) it is
//   ceil((per_tile*tiles op per_expert*activated) * s / 1000),
// where op is + under the additive rule and max under the roofline rule.
#include <cstdint>
#include <span>

#include "core/cost_model.h"
#include "placement/replica_table.h"

namespace afore::placement {

struct SplitProblem {
  const ReplicaTable& replicas;
  std::span<const std::int64_t> tiles;  // by expert; experts with tiles have a replica
  LoadRule rule = LoadRule::additive;
  std::int64_t per_tile = 1;
  std::int64_t per_expert = 0;
  std::span<const WorkerTraits> traits = {};  // empty = all alike
};

// What is known of the best split. `load` is what the parts reach; no split is below `bound`.
struct SplitResult {
  std::int64_t load = 0;
  std::int64_t bound = 0;
  bool budget_hit = false;  // the proof ended at its node budget
  bool certified() const { return load == bound; }
};

}  // namespace afore::placement
