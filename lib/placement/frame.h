#pragma once
// What every policy's answer has beside the policy's own choice: the best without copies, the bounds within its limits,
// and an exact split (TileSplitter; TimeSplitter's search under time) over any placement. The search takes the additive
// rule and equal workers for granted; times and bounds are those of the request's rule and traits.
#include <vector>

#include "placement/board.h"
#include "placement/bounds.h"
#include "placement/policy.h"
#include "placement/slots.h"
#include "placement/split_tiles.h"
#include "placement/split_time.h"
#include "placement/traits.h"

namespace afore::placement {

class Frame {
 public:
  explicit Frame(const Limits& limits) : limits_(limits), time_(tiles_) {}

  // Splits over what stands; fills *_before, the bounds and the cut of `decision`. The board then holds that split.
  // `keeps_off`: no work goes to draining workers where another replica stands, and bounds may take that for granted.
  void stand(const Request& request, Decision& decision, bool keeps_off = true);
  // The exact split over `placement`, which may differ from the request's by copies; the board holds it.
  void split(const LayerPlacement& placement, const Request& request);
  // decision.certified, from decision.assignment.
  void certify(const Request& request, Decision& decision) const;

  const Board& board() const { return board_; }

 private:
  const Board& all_replicas(const Request& request);
  bool by_tiles() const { return limits_.objective == Objective::tiles; }

  Limits limits_;
  TileSplitter tiles_;
  TimeSplitter time_;
  Bounds bounds_;
  Board board_, whole_;
  SlotTable slots_;
  TrueLoads true_loads_;
  std::vector<std::int64_t> demand_;
};

}  // namespace afore::placement
