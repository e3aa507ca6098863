#include "placement/split_tiles.h"

#include <algorithm>

#include "util/error.h"
#include "util/scratch.h"

namespace afore::placement {

// Largest experts first, whole, on the least loaded holder: few parts, and little left for the paths.
void TileSplitter::start(Board& board) {
  board.clear_work();
  auto& load = scratch<std::vector<std::int64_t>, struct SplitTilesLoad>();
  load.assign(board.workers(), 0);
  order_.clear();
  for (int expert = 0; expert < board.experts(); ++expert) {
    if (board.demand(expert) == 0) continue;
    if (board.holders(expert) > 1) {
      order_.push_back(expert);
    } else {
      for (const int id : board.of_expert(expert))
        if (board.replica(id).alive) {
          board.put(id, board.demand(expert));
          load[board.replica(id).worker] += board.demand(expert);
        }
    }
  }
  std::sort(order_.begin(), order_.end(), [&](int a, int b) {
    return board.demand(a) != board.demand(b) ? board.demand(a) > board.demand(b) : a < b;
  });
  for (const int expert : order_) {
    int best = -1;
    for (const int id : board.of_expert(expert))
      if (board.replica(id).alive && (best < 0 || load[board.replica(id).worker] < load[board.replica(best).worker]))
        best = id;
    board.put(best, board.demand(expert));
    load[board.replica(best).worker] += board.demand(expert);
  }
  board.settle();
}

bool TileSplitter::augment(Board& board, int worker, std::int64_t bound) {
  if (static_cast<int>(seen_.size()) != board.workers()) {
    seen_.assign(board.workers(), 0);
    from_.assign(board.workers(), 0);
    to_.assign(board.workers(), 0);
    stamp_ = 0;
  }
  ++stamp_;
  queue_.assign(1, worker);
  seen_[worker] = stamp_;
  int sink = -1;
  for (std::size_t head = 0; head < queue_.size() && sink < 0; ++head) {
    for (const int from : board.of_worker(queue_[head])) {
      const Replica& source = board.replica(from);
      if (source.tiles == 0 || board.holders(source.expert) < 2) continue;
      for (const int to : board.of_expert(source.expert)) {
        const Replica& target = board.replica(to);
        if (!target.alive || seen_[target.worker] == stamp_) continue;
        seen_[target.worker] = stamp_;
        from_[target.worker] = from;
        to_[target.worker] = to;
        queue_.push_back(target.worker);
        // Among the neighbours within reach, the emptiest takes the most in one step.
        if (board.load(target.worker) < bound && (sink < 0 || board.load(target.worker) < board.load(sink)))
          sink = target.worker;
      }
    }
  }
  if (sink < 0) return false;
  std::int64_t amount = std::min(board.load(worker) - bound, bound - board.load(sink));
  for (int at = sink; at != worker; at = board.replica(from_[at]).worker)
    amount = std::min(amount, board.replica(from_[at]).tiles);
  for (int at = sink; at != worker;) {
    const int before = board.replica(from_[at]).worker;
    board.move(from_[at], to_[at], amount);
    at = before;
  }
  return true;
}

std::int64_t TileSplitter::resplit(Board& board, std::int64_t bound) {
  cut_.clear();
  while (board.max_load() > bound) {
    if (augment(board, board.busiest(), bound)) continue;
    std::int64_t confined = 0;
    for (const int worker : queue_) confined += board.load(worker);
    bound = ceil_div(confined, static_cast<std::int64_t>(queue_.size()));
    cut_ = queue_;
  }
  std::sort(cut_.begin(), cut_.end());
  return bound;
}

// A part that fits beside another part of the same expert saves an activation and costs nothing.
void TileSplitter::merge_parts(Board& board, std::int64_t bound) {
  for (const int expert : order_)
    for (const int from : board.of_expert(expert)) {
      const std::int64_t tiles = board.replica(from).tiles;
      if (tiles == 0 || tiles == board.demand(expert)) continue;
      for (const int to : board.of_expert(expert))
        if (to != from && board.replica(to).tiles > 0 && board.load(board.replica(to).worker) + tiles <= bound) {
          board.move(from, to, tiles);
          break;
        }
    }
}

std::int64_t TileSplitter::split(Board& board, std::int64_t floor) {
  AFORE_CHECK(board.form().per_tile == 1 && board.form().per_expert == 0, "exact split works in tiles");
  start(board);
  const std::int64_t bound = resplit(board, floor);
  merge_parts(board, bound);
  board.settle();
  return board.max_load();
}

}  // namespace afore::placement
