#pragma once
// Copies for one target under objective time: those that lower its largest load by more than they expose (AFORE Eq.
// 7-9), found by Grower, and kept only where the net gain is worth a change of what stands.
#include <cstdint>
#include <vector>

#include "placement/board.h"
#include "placement/bounds.h"
#include "placement/grow.h"
#include "placement/policy.h"
#include "placement/slots.h"
#include "placement/split_problem.h"

namespace afore::placement {

class OnDemand {
 public:
  explicit OnDemand(const Limits& limits) : limits_(limits), time_(tiles_), grower_(tiles_, time_) {}

  // Bounds on any plan for the target within the limits, into `decision`; `parts` is a split of `problem`, which is of
  // the request. Returns the bound on the load.
  std::int64_t bound(const Request& request, const SplitProblem& problem, std::span<const std::int64_t> parts,
                     Decision& decision);
  // After bound(): fills decision.copies and `shares` with the target's split over what then stands, and returns its
  // largest load; or -1, where no copies have a net gain of `least_gain` (a load) or more.
  std::int64_t grow(const Request& request, std::int64_t bound, std::int64_t least_gain, Decision& decision,
                    std::vector<TileShare>& shares);

 private:
  Limits limits_;
  TileSplitter tiles_;
  TimeSplitter time_;
  Grower grower_;
  Bounds bounds_;
  Board board_;
  SlotTable slots_;
  std::int64_t copies_ = 0;  // that could be made
};

}  // namespace afore::placement
