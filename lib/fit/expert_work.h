#pragma once
// The work behind a measured grouped product: tiles and activated experts of the measured worker, which the tables do
// not have, worked out from what they do have (docs/metrics.md, "fitted costs").
#include <cstdint>
#include <span>

#include "core/measured.h"

namespace afore::fit {

// Rows of a tile that the kernel of a form can take, ascending; empty for links.
std::span<const std::int64_t> tile_heights(TableForm form);

struct ExpertWork {
  double tiles = 0;      // means over the draws; whole numbers where nothing is drawn
  double activated = 0;  // experts with work
  // Variances and covariance between draws: how far a row of a few draws may be from the mean.
  double tiles_variance = 0, activated_variance = 0, covariance = 0;
};

// Deterministic: the draws depend on `seed` and the row's key alone, not on the tile. Needs a row of a grouped product.
ExpertWork expert_work(TableForm form, const MeasuredRow& row, std::int64_t tile_tokens, std::uint64_t seed);

}  // namespace afore::fit
