#include "placement/exact/tile_optimal.h"

#include <algorithm>

namespace afore::placement::exact {

__int128 TileOptimal::weight(const Loads& loads, int worker, std::int64_t more) const {
  const std::int64_t tiles = loads.tiles(worker) + more;
  if (loads.alike()) return tiles;
  return static_cast<__int128>(tiles) * loads.slowdown(worker);
}

// Breadth first; the first worker that stays below `limit` with one tile more, or -1.
int TileOptimal::find_path(const Loads& loads, int worker, __int128 limit) {
  const ReplicaTable& table = loads.replicas();
  ++stamp_;
  queue_.clear();
  queue_.push_back(worker);
  seen_[worker] = stamp_;
  for (std::size_t at = 0; at < queue_.size(); ++at)
    for (const int from : loads.movable(queue_[at])) {
      if (loads.part(from) == 0) continue;
      const int expert = table.expert(from);
      if (scanned_[expert] == stamp_) continue;  // all its workers are seen
      scanned_[expert] = stamp_;
      for (int to = table.first(expert); to < table.first(expert + 1); ++to) {
        const int next = table.worker(to);
        if (seen_[next] == stamp_) continue;
        seen_[next] = stamp_;
        from_[next] = from;
        to_[next] = to;
        if (weight(loads, next, 1) < limit) return next;
        queue_.push_back(next);
      }
    }
  return -1;
}

int TileOptimal::heaviest(const Loads& loads) const {
  const int workers = loads.workers();
  int best = 0;
  if (loads.alike()) {
    for (int w = 1; w < workers; ++w)
      if (loads.tiles(w) > loads.tiles(best)) best = w;
    return best;
  }
  for (int w = 1; w < workers; ++w)
    if (weight(loads, w, 0) > weight(loads, best, 0)) best = w;
  return best;
}

void TileOptimal::run(Loads& loads) {
  const ReplicaTable& table = loads.replicas();
  const int workers = loads.workers();
  seen_.assign(workers, 0);
  scanned_.assign(table.experts(), 0);
  stamp_ = 0;
  from_.resize(workers);
  to_.resize(workers);
  queue_.reserve(workers);
  const std::int64_t mean = (loads.total_tiles() + workers - 1) / workers;
  for (;;) {
    const int busiest = heaviest(loads);
    if (loads.alike() && loads.tiles(busiest) <= mean) return;
    const int sink = find_path(loads, busiest, weight(loads, busiest, 0));
    if (sink < 0) return;
    std::int64_t most = loads.tiles(busiest);
    for (int w = sink; w != busiest; w = table.worker(from_[w])) most = std::min(most, loads.part(from_[w]));
    // The most that keeps the sink at or below the giver; one tile in any case, as the path was found for one.
    std::int64_t low = 1, high = most;
    while (low < high) {
      const std::int64_t middle = high - (high - low) / 2;
      if (weight(loads, sink, middle) <= weight(loads, busiest, -middle)) low = middle;
      else high = middle - 1;
    }
    for (int w = sink; w != busiest; w = table.worker(from_[w])) loads.shift(from_[w], to_[w], low);
  }
}

}  // namespace afore::placement::exact
