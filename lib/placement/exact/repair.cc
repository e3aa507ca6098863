// Repair: bring every worker under the present maximum by a move and what that move makes necessary.
#include <algorithm>

#include "placement/exact/search.h"

namespace afore::placement::exact {
namespace {

constexpr int kNodes = 40;
constexpr int kBranches = 8;
constexpr int kMendRounds = 32;
constexpr int kDepth = 2;

}  // namespace

// The best moves off `worker` that bring it to the limit or nearer; at depth 0 only those that leave both ends within
// it. They end up on top of moves_, the least overload first, then the fewest activations added, then as met.
void Search::list_moves(const Loads& loads, int worker, std::int64_t limit, int depth) {
  const ReplicaTable& table = loads.replicas();
  const std::size_t begin = moves_.size();
  const auto keep = [&](const Move& move) {
    std::size_t at = moves_.size();
    if (at - begin == kBranches) {
      if (moves_[at - 1].key <= move.key) return;
      --at;
    } else {
      moves_.push_back(move);
    }
    for (; at > begin && moves_[at - 1].key > move.key; --at) moves_[at] = moves_[at - 1];
    moves_[at] = move;
  };
  const std::int64_t excess = loads.load(worker) - limit;
  const std::int64_t need =
      loads.tiles(worker) - std::max<std::int64_t>(0, loads.capacity(worker, limit, loads.active(worker)));
  for (const int from : loads.movable(worker)) {
    const std::int64_t part = loads.part(from);
    if (part == 0) continue;
    const int expert = table.expert(from);
    const std::int64_t hopeless = excess + loads.per_tile() * loads.demand(expert);
    for (int to = table.first(expert); to < table.first(expert + 1); ++to) {
      if (to == from) continue;
      const int other = table.worker(to);
      const std::int64_t opens = loads.part(to) == 0;
      const auto offer = [&](std::int64_t tiles) {
        if (tiles < 1 || tiles > part) return;
        const std::int64_t closes = tiles == part;
        const std::int64_t over = std::max<std::int64_t>(0, loads.after(other, tiles, opens) - limit) +
                                  std::max<std::int64_t>(0, loads.after(worker, -tiles, -closes) - limit);
        if (depth == 0 ? over > 0 : over >= hopeless) return;
        keep({4 * std::min(over, kUnlimited / 4) + opens - closes, from, to, tiles});
      };
      offer(part);
      if (need < part) offer(need);
      const std::int64_t fits = loads.capacity(other, limit, loads.active(other) + opens) - loads.tiles(other);
      if (fits < part && fits != need) offer(fits);
    }
  }
}

bool Search::fix(Loads& loads, int worker, std::int64_t limit, int depth) {
  if (loads.load(worker) <= limit) return true;
  if (++nodes_ > kNodes) return false;
  const std::size_t begin = moves_.size();
  list_moves(loads, worker, limit, depth);
  bool done = false;
  const std::size_t end = moves_.size();
  for (std::size_t i = begin; i < end && !done; ++i) {
    const Move move = moves_[i];
    const std::size_t mark = loads.mark();
    const int other = loads.replicas().worker(move.to);
    loads.move(move.from, move.to, move.tiles);
    done = depth == 0 ||
           (fix(loads, other, limit, depth - 1) && fix(loads, worker, limit, depth - 1) && loads.load(other) <= limit);
    if (!done) loads.rewind(mark);
    if (nodes_ > kNodes) break;
  }
  moves_.resize(begin);
  return done;
}

bool Search::improve(Loads& loads, int depth) {
  loads.clear_trail();
  const std::int64_t limit = loads.max_load() - 1;
  nodes_ = 0;
  moves_.clear();
  moves_.reserve((kDepth + 1) * kBranches);
  for (int worker = loads.busiest(); loads.load(worker) > limit; worker = loads.busiest())
    if (!fix(loads, worker, limit, depth)) {
      loads.rewind(0);
      return false;
    }
  return true;
}

std::int64_t Search::repair(Loads& loads, std::int64_t floor) {
  for (int round = 0; round < kMendRounds && loads.max_load() > floor; ++round) {
    bool better = false;
    for (int depth = 1; depth <= kDepth && !better; ++depth) better = improve(loads, depth);
    if (!better) break;
    descend(loads, floor);
  }
  return loads.max_load();
}

}  // namespace afore::placement::exact
