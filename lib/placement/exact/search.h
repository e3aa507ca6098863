#pragma once
// The quick search: longest experts first onto the least loaded replica, descent by single moves, and repair by chains
// of at most two further moves, all taken back where they fail. Sizes: a few µs per target.
#include <cstdint>
#include <vector>

#include "placement/exact/loads.h"

namespace afore::placement::exact {

class Search {
 public:
  // Fills parts that hold pinned experts only.
  void start(Loads& loads);
  // The best of whole, balancing and just-enough moves off the busiest worker, until none lowers it or `floor` is met.
  void descend(Loads& loads, std::int64_t floor);
  // Repairs and descents in turn; returns the largest load.
  std::int64_t repair(Loads& loads, std::int64_t floor);

 private:
  struct Move {
    std::int64_t key = 0;  // overload first, then activations added
    int from = 0, to = 0;
    std::int64_t tiles = 0;
  };
  bool best_move(const Loads& loads, int worker, std::int64_t floor, Move& best) const;
  bool improve(Loads& loads, int depth);
  bool fix(Loads& loads, int worker, std::int64_t limit, int depth);
  void list_moves(const Loads& loads, int worker, std::int64_t limit, int depth);

  void order_by_tiles(const Loads& loads);

  std::vector<int> order_, starts_;
  std::vector<Move> moves_;  // of all levels, a stack
  int nodes_ = 0;
};

}  // namespace afore::placement::exact
