#pragma once
// Into and out of a flow: a target's counts as tiles and loads of the first replicas, and the work as an assignment.
#include <cstdint>
#include <span>
#include <vector>

#include "core/assignment.h"
#include "placement/tiles/flow.h"

namespace afore::placement::tiles {

constexpr std::int64_t kMostTiles = std::int64_t{1} << 30;  // below, sums of loads stay within 32 bits

struct Demand {
  // AFORE_CHECKs that each expert with demand has a replica. From kMostTiles on only `total` is filled.
  void count(const Standing& standing, std::span<const std::int64_t> counts, std::int64_t tile_tokens);

  std::vector<Tiles> tiles;      // by expert
  std::vector<Tiles> home_load;  // by worker: tiles of the experts whose first replica it has
  std::vector<int> home_active;  // by worker: how many of them have demand
  std::int64_t total = 0;
  std::int64_t active = 0;  // experts with demand
};

// Time of the slowest worker, c0 included. `activated` is scratch.
Nanos slowest_ns(const Flow& flow, const Demand& demand, const Request& request, std::vector<int>& activated);

// All work, each expert activated once, spread evenly: no split takes less.
Nanos volume_bound_ns(const Demand& demand, const Request& request);

// The work, sorted by (expert, worker), into `assignment`, whatever stood there.
void emit(const Flow& flow, const Demand& demand, std::vector<TileShare>& assignment);

}  // namespace afore::placement::tiles
