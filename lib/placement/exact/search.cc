#include "placement/exact/search.h"

#include <algorithm>

namespace afore::placement::exact {
namespace {

constexpr std::int64_t kCounted = 1024;
constexpr int kSearchMoves = 256;

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

// Most tiles first, then by id: counted where tiles are few, which they are.
void Search::order_by_tiles(const Loads& loads) {
  const auto experts = loads.free_experts();
  order_.resize(experts.size());
  starts_.reserve(kCounted + 1);
  std::int64_t most = 0;
  for (const int expert : experts) most = std::max(most, loads.demand(expert));
  if (most >= kCounted) {
    std::copy(experts.begin(), experts.end(), order_.begin());
    std::sort(order_.begin(), order_.end(), [&](int a, int b) {
      return loads.demand(a) != loads.demand(b) ? loads.demand(a) > loads.demand(b) : a < b;
    });
    return;
  }
  starts_.assign(most + 2, 0);
  for (const int expert : experts) ++starts_[most - loads.demand(expert) + 1];
  for (std::int64_t i = 0; i < most; ++i) starts_[i + 1] += starts_[i];
  for (const int expert : experts) order_[starts_[most - loads.demand(expert)]++] = expert;
}

void Search::start(Loads& loads) {
  order_.reserve(loads.replicas().experts());
  order_by_tiles(loads);
  const ReplicaTable& table = loads.replicas();
  for (const int expert : order_) {
    const std::int64_t tiles = loads.demand(expert);
    int best = table.first(expert);
    std::int64_t best_load = loads.after(table.worker(best), tiles, 1);
    for (int id = best + 1; id < table.first(expert + 1); ++id) {
      const std::int64_t load = loads.after(table.worker(id), tiles, 1);
      best = load < best_load ? id : best;
      best_load = std::min(load, best_load);
    }
    loads.put(best, tiles);
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
  int moves =
      kSearchMoves + 2 * loads.replicas().replicas();  // more only where loads are so fine-grained that gains are tiny
  for (int worker = loads.busiest(); moves-- > 0 && loads.load(worker) > floor && best_move(loads, worker, floor, best);
       worker = loads.busiest())
    loads.shift(best.from, best.to, best.tiles);
}

}  // namespace afore::placement::exact
