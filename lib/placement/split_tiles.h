#pragma once
// Exact min-max split of whole tiles over standing replicas (by Hall's theorem T* = max over worker sets S
// of ceil(D(S)/|S|), D(S) = tiles of experts held only inside S: docs/metrics.md "lower bounds").
#include <cstdint>
#include <vector>

#include "placement/board.h"

namespace afore::placement {

class TileSplitter {
 public:
  // Replaces the board's work by an optimal split and settles it; the board's form must be {1, 0}. `floor` is any
  // valid lower bound. Returns the largest load. Among optimal splits, prefers few activated experts.
  std::int64_t split(Board& board, std::int64_t floor);
  // Lowers loads above `bound` by augmenting along residual paths, raising the bound to ceil(D(S)/|S|) where a cut S
  // forbids it; returns the bound, which all loads then meet. Logged on the board.
  std::int64_t resplit(Board& board, std::int64_t bound);
  // One augmentation towards `bound` from a worker above it; false when no path leads to a worker below it, and then
  // reached() is the cut: all work on it is confined to it, and all loads there are at least `bound`.
  bool augment(Board& board, int worker, std::int64_t bound);
  const std::vector<int>& reached() const { return queue_; }
  // Ascending set that proves the bound last returned; empty when no cut had to raise it.
  const std::vector<int>& cut() const { return cut_; }

 private:
  void start(Board& board);
  void merge_parts(Board& board, std::int64_t bound);

  std::vector<int> queue_, cut_, order_;
  std::vector<int> from_, to_;       // replica ids of the step that reached a worker
  std::vector<std::uint32_t> seen_;  // stamp per worker
  std::uint32_t stamp_ = 0;
};

}  // namespace afore::placement
