#pragma once
// Objective tiles: the exact split over the replicas that stand, and copies only where they lower the largest tile load
// and pay: of all prefixes of what the searches find, the best G = c1*(T_base - T) - max(0, migration - window), fewest
// copies among equals (docs/metrics.md "gain"). What stands is used first; slots stay full.
#include <cstdint>
#include <memory>

#include "placement/policy.h"

namespace afore::placement {

class TilePlanner {
 public:
  static constexpr std::int64_t kNodes = 0;

  // `node_budget`: nodes of the complete search, per target, that may follow the greedy ones; 0 = none, which keeps
  // even the slowest targets fast. Some tens close half of the remaining gaps, at 1 to 8 us a node.
  explicit TilePlanner(const Limits& limits, std::int64_t node_budget = kNodes);
  ~TilePlanner();

  // Fills every field of `decision`, whose buffers are used again. Allocates nothing once it has seen its largest
  // layers. Experts with demand must have a replica. Keeps no state that shows in a plan.
  void plan(const Request& request, Decision& decision);

  // Of the last plan: no plan within its limits has a lower largest load. At least decision.lower_bound_tiles, and
  // above it where the search refuted loads that the bounds allow.
  std::int64_t proven_tiles() const;
  std::int64_t nodes() const;  // the search used

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// The same behind the seam of all policies; objective tiles whatever the limits say.
std::unique_ptr<Policy> make_tiles(const Limits& limits, std::int64_t node_budget = TilePlanner::kNodes);

}  // namespace afore::placement
