#pragma once
// Split over standing replicas that minimises max(per_tile*tiles + per_expert*activated). NP-hard already for two
// workers (equal-cardinality partition), so: longest expert first, descent by single moves, a bounded repair, and the
// best of that, everything on the primaries and the tile-optimal split. Never slower than the primaries alone.
#include <cstdint>
#include <vector>

#include "placement/board.h"
#include "placement/split_tiles.h"

namespace afore::placement {

class TimeSplitter {
 public:
  explicit TimeSplitter(TileSplitter& tiles) : tiles_(tiles) {}

  // Replaces the board's work and settles it. `floor`: a lower bound, where the search may stop. Returns the largest
  // load.
  std::int64_t split(Board& board, std::int64_t floor);
  // Best single moves off the busiest worker (whole, balancing, just enough), and where none helps the best exchange
  // of two experts, until nothing lowers it. Logged.
  void descend(Board& board, std::int64_t floor);
  // descend(), then chains of at most two further moves that bring the busiest worker under the present maximum.
  void polish(Board& board, std::int64_t floor);

 private:
  struct Candidate {
    std::int64_t key = 0;
    int from = 0, to = 0;
    std::int64_t tiles = 0;
  };
  void longest_first(Board& board);
  bool best_move(const Board& board, std::int64_t floor, Candidate& best) const;
  bool exchange(Board& board, std::int64_t floor);
  bool improve(Board& board, int depth);
  bool fix(Board& board, int worker, std::int64_t limit, int depth);
  void list_candidates(const Board& board, int worker, std::int64_t limit, int depth);

  TileSplitter& tiles_;
  std::vector<int> order_;
  std::vector<std::int64_t> saved_, load_;
  std::vector<Candidate> candidates_;
  std::vector<int> here_;  // by expert: its replica on the busiest worker, -1 = none
  int nodes_ = 0;
};

}  // namespace afore::placement
