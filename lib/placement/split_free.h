#pragma once
// Splits when every expert stands on every worker (the yardstick's placement).
#include <cstdint>
#include <span>
#include <vector>

#include "placement/board.h"

namespace afore::placement {

struct Part {
  int expert = 0;
  int worker = 0;
  std::int64_t tiles = 0;
};

// Cuts the line of all tiles, expert after expert, into `workers` pieces that differ by at most one tile: exactly LB0.
void cut_line(std::span<const std::int64_t> tiles, int workers, std::vector<Part>& parts);

// Fits all experts under `limit`: those over it fill workers whole, the rest go whole where they fit tightest, and
// what fits nowhere is cut over the roomiest workers. False when it does not fit this way. A (worker, expert) pair may
// appear twice in `parts`.
bool pack_under(std::span<const std::int64_t> tiles, int workers, const LoadForm& form, std::int64_t limit,
                std::vector<Part>& parts);

}  // namespace afore::placement
