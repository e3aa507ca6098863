#include "placement/exact/search.h"

#include <algorithm>

namespace afore::placement::exact {
namespace {

// Most tiles of `from`'s part with which the receiver stays at or below the giver. Closed form for additive loads of
// like workers, else by bisection of the monotone difference.
std::int64_t balance(const Loads& loads, int giver, int taker, std::int64_t opens, std::int64_t most) {
  if (loads.plain() && loads.per_tile() > 0) {
    const std::int64_t gap = loads.load(giver) - loads.load(taker) - opens * loads.per_expert();
    return std::min(gap / (2 * loads.per_tile()), most);
  }
  std::int64_t low = 0, high = most;
  while (low < high) {
    const std::int64_t middle = high - (high - low) / 2;
    if (loads.after(taker, middle, opens) <= loads.after(giver, -middle, 0)) low = middle;
    else high = middle - 1;
  }
  return low;
}

}  // namespace

void Search::start(Loads& loads) {
  order_.clear();
  order_.reserve(loads.replicas().experts());
  for (const int expert : loads.free_experts()) order_.emplace_back(-loads.demand(expert), expert);
  std::sort(order_.begin(), order_.end());
  const ReplicaTable& table = loads.replicas();
  for (const auto& [key, expert] : order_) {
    int best = table.first(expert);
    std::int64_t best_load = loads.after(table.worker(best), -key, 1);
    for (int id = best + 1; id < table.first(expert + 1); ++id) {
      const std::int64_t load = loads.after(table.worker(id), -key, 1);
      if (load >= best_load) continue;
      best = id;
      best_load = load;
    }
    loads.put(best, -key);
  }
}

bool Search::best_move(const Loads& loads, int worker, std::int64_t floor, Move& best) const {
  const ReplicaTable& table = loads.replicas();
  const std::int64_t top = loads.load(worker);
  const std::int64_t enough =
      loads.tiles(worker) - std::max<std::int64_t>(0, loads.capacity(worker, floor, loads.active(worker)));
  std::int64_t best_score = top;
  std::int64_t best_extra = 2;
  bool found = false;
  for (const int from : loads.movable(worker)) {
    const std::int64_t part = loads.part(from);
    if (part == 0) continue;
    const int expert = table.expert(from);
    for (int to = table.first(expert); to < table.first(expert + 1); ++to) {
      if (to == from) continue;
      const int other = table.worker(to);
      const std::int64_t opens = loads.part(to) == 0;
      if (loads.after(other, 1, opens) >= top) continue;
      const auto offer = [&](std::int64_t tiles) {
        if (tiles < 1 || tiles > part) return;
        const std::int64_t closes = tiles == part;
        const std::int64_t score =
            std::max({loads.after(worker, -tiles, -closes), loads.after(other, tiles, opens), floor});
        const std::int64_t extra = opens - closes;
        if (score > best_score || (score == best_score && (score == top || extra >= best_extra))) return;
        best_score = score;
        best_extra = extra;
        best = {score, from, to, tiles};
        found = true;
      };
      offer(part);
      const std::int64_t even = balance(loads, worker, other, opens, part);
      offer(even);
      offer(even + 1);
      if (enough != even && enough != even + 1) offer(enough);
    }
  }
  return found;
}

void Search::descend(Loads& loads, std::int64_t floor) {
  Move best;
  for (int worker = loads.busiest(); loads.load(worker) > floor && best_move(loads, worker, floor, best);
       worker = loads.busiest())
    loads.shift(best.from, best.to, best.tiles);
}

}  // namespace afore::placement::exact
