#pragma once
// From a fractional plan to copies: drawn with the probabilities it gives them, then repaired by further copies off the
// busiest worker as long as that helps.
#include <cstdint>
#include <span>
#include <vector>

#include "placement/director/layout.h"
#include "placement/director/relaxation.h"
#include "util/rng.h"

namespace afore::placement::director {

class Rounding {
 public:
  void reset(const Instance& instance, Evaluator& evaluator);
  // Each wish is granted with probability `copy` where budget and slots last, the most wanted first; `sure`: those of a
  // half and more, no others.
  void draw(std::span<const Wish> wishes, bool sure, Rng& rng, Layout& layout);
  // Single copies, into open slots or in place of other copies, each the best that can be made off the busiest worker,
  // while they lower (largest load, work above the mean). Stops at `floor`.
  void repair(Layout& layout, std::int64_t floor);
  // Random changes of one slot, kept unless they raise the objective: half of them what the relaxation wished for.
  void walk(std::span<const Wish> wishes, int changes, std::int64_t floor, Rng& rng, Layout& layout);
  // Takes back copies, the least used first, as long as the best split stays at `objective` or below.
  void thin(Layout& layout, std::int64_t objective);

 private:
  struct Score {
    std::int64_t objective = 0;
    double above = 0;  // squares of what workers have over the mean
    bool operator<(const Score& other) const {
      return objective != other.objective ? objective < other.objective : above < other.above * (1 - 1e-9);
    }
  };
  Score score(const Layout& layout);
  bool step(Layout& layout, Score& best);
  void list_moves(const Layout& layout);

  struct Move {
    int slot, expert;
  };
  const Instance* instance_ = nullptr;
  Evaluator* evaluator_ = nullptr;
  std::vector<std::int64_t> loads_;
  std::vector<int> receivers_;
  std::vector<Move> moves_;
};

}  // namespace afore::placement::director
