#include "placement/tiles/emit.h"

#include <algorithm>
#include <bit>

#include "util/error.h"

namespace afore::placement::tiles {

void Demand::count(const Standing& standing, std::span<const std::int64_t> counts, std::int64_t tile_tokens) {
  const auto experts = static_cast<int>(counts.size());
  tiles.resize(experts);
  total = 0;
  const auto round_up = static_cast<std::uint64_t>(tile_tokens - 1);
  if (std::has_single_bit(static_cast<std::uint64_t>(tile_tokens))) {
    const int shift = std::countr_zero(static_cast<std::uint64_t>(tile_tokens));
    std::uint64_t sum = 0;
    for (int e = 0; e < experts; ++e) {
      const std::uint64_t n = (static_cast<std::uint64_t>(counts[e]) + round_up) >> shift;
      sum += n;
      tiles[e] = static_cast<Tiles>(n);
    }
    total = static_cast<std::int64_t>(sum);
  } else {
    for (int e = 0; e < experts; ++e) {
      const std::int64_t n = ceil_div(counts[e], tile_tokens);
      total += n;
      tiles[e] = static_cast<Tiles>(n);
    }
  }
  if (total >= kMostTiles) return;
  home_load.assign(standing.table.workers(), 0);
  home_active.assign(standing.table.workers(), 0);
  std::int64_t covered = 0;
  active = 0;
  for (const Standing::Run& run : standing.runs) {
    Tiles load = 0;
    int with_demand = 0;
    for (int e = run.begin; e < run.end; ++e) {
      load += tiles[e];
      with_demand += tiles[e] > 0;
    }
    home_load[run.worker] += load;
    home_active[run.worker] += with_demand;
    covered += load;
    active += with_demand;
  }
  AFORE_CHECK(covered == total, "an expert with demand has no complete replica");
}

Nanos slowest_ns(const Flow& flow, const Demand& demand, const Request& request, std::vector<int>& activated) {
  activated.assign(demand.home_active.begin(), demand.home_active.end());
  const ReplicaTable& table = flow.standing().table;
  for (const int expert : table.replicated()) {
    if (flow.tiles(expert) == 0) continue;
    const int first = table.first(expert);
    activated[flow.worker(first)] -= flow.part(first) == 0;
    for (int id = first + 1, end = first + table.count(expert); id < end; ++id)
      activated[flow.worker(id)] += flow.part(id) > 0;
  }
  Nanos slowest = 0;
  for (int w = 0; w < flow.workers(); ++w)
    slowest = std::max(slowest, ffn_ns(request.cost, request.workers, w, flow.load(w), activated[w]));
  return slowest;
}

Nanos volume_bound_ns(const Demand& demand, const Request& request) {
  const LayerCost& cost = request.cost;
  const std::int64_t workers = request.placement.workers();
  const Nanos compute = cost.c1_ns * demand.total, weights = cost.c2_ns * demand.active;
  Nanos bound = cost.rule == LoadRule::additive ? ceil_div(compute + weights, workers)
                                                : std::max(ceil_div(compute, workers), ceil_div(weights, workers));
  if (!request.workers.empty()) {
    std::int64_t fastest = request.workers[0].slowdown_permille;
    for (const WorkerTraits& traits : request.workers) fastest = std::min(fastest, traits.slowdown_permille);
    bound = ceil_div(bound * fastest, 1000);
  }
  return cost.c0_ns + bound;
}

void emit(const Flow& flow, const Demand& demand, std::vector<TileShare>& assignment) {
  const Standing& standing = flow.standing();
  const std::size_t most = standing.table.replicas() + flow.copies();  // a share each
  if (assignment.size() < most) assignment.resize(most);
  TileShare* out = assignment.data();
  const auto several = [&](int expert) {
    TileShare* const begin = out;
    flow.of_expert(expert, [&](int id) {
      if (flow.part(id) == 0) return false;
      TileShare* at = out++;
      for (; at != begin && (at - 1)->worker > flow.worker(id); --at) *at = *(at - 1);
      *at = {expert, flow.worker(id), flow.part(id)};
      return false;
    });
  };
  const Tiles* const tiles = demand.tiles.data();
  const bool all_active = demand.active == std::ssize(demand.tiles) && flow.copies() == 0;
  for (const Standing::Run& stretch : standing.stretches) {
    if (standing.table.count(stretch.begin) > 1) {
      if (tiles[stretch.begin] > 0) several(stretch.begin);
    } else if (all_active) {  // the usual case: nothing to decide
      const int worker = stretch.worker, end = stretch.end;
      for (int expert = stretch.begin; expert < end; ++expert) *out++ = {expert, worker, tiles[expert]};
    } else {
      for (int expert = stretch.begin; expert < stretch.end; ++expert) {
        if (tiles[expert] == 0) continue;
        if (flow.several()[expert]) several(expert);
        else *out++ = {expert, stretch.worker, tiles[expert]};
      }
    }
  }
  assignment.resize(out - assignment.data());
}

}  // namespace afore::placement::tiles
