#pragma once
// Least largest tile load over the standing replicas (activations free), by residual paths: tiles go from the worker
// with most along experts it shares to one that stays below. No path means that all tiles on the workers reached are
// confined to them, and none of them could take one more. Slowdowns count, activations do not.
#include <cstdint>
#include <vector>

#include "placement/exact/loads.h"

namespace afore::placement::exact {

class TileOptimal {
 public:
  // From the whole split that stands to a tile-optimal one; where it is one already, nothing changes.
  void run(Loads& loads);

 private:
  __int128 weight(const Loads& loads, int worker, std::int64_t more) const;
  int heaviest(const Loads& loads) const;
  int find_path(const Loads& loads, int worker, __int128 limit);

  std::vector<int> queue_, from_, to_;
  std::vector<std::uint32_t> seen_, scanned_;  // by worker, by expert: the stamp of the search
  std::uint32_t stamp_ = 0;
};

}  // namespace afore::placement::exact
