#include "pipeline/initial_maps.h"

#include "core/assignment.h"
#include "placement/primaries.h"
#include "util/error.h"

namespace afore::pipeline {

void PrimaryHistory::observe(const Demand& demand) {
  if (experts_ == 0) experts_ = demand.counts.size();
  if (demand.counts.size() != experts_) return;  // the planner says so, with its place, when it comes there
  check_magnitude(demand.target, demand.tokens, demand.counts, static_cast<int>(cluster_.ffn_workers), cost_);
  const bool tiles_only = objective_ == Objective::tiles;
  std::vector<std::int64_t>& loads = loads_[demand.target.layer];
  for (const std::int64_t count : demand.counts) {
    const std::int64_t tiles = ceil_div(count, cluster_.tile_tokens);
    loads.push_back(tiles_only ? tiles : tiles > 0 ? cost_.c1_ns * tiles + cost_.c2_ns : 0);
  }
}

InitialMaps PrimaryHistory::maps() const {
  InitialMaps maps;
  std::vector<std::int64_t> earlier(cluster_.ffn_workers, 0);
  for (const auto& [layer, loads] : loads_) {
    const LayerPlacement placement =
        placement::balance_primaries(loads, static_cast<int>(experts_), static_cast<int>(cluster_.ffn_workers),
                                     static_cast<int>(cluster_.redundant_slots), earlier);
    maps.emplace(layer, PlacementRecord{layer, placement.slots_per_worker(), placement.physical_to_logical()});
  }
  return maps;
}

}  // namespace afore::pipeline
