#pragma once
// Times of the grouped expert FFN over a grid of tiles and activated experts: what c0, c1 and c2 are fitted to.
#include <cstdint>
#include <optional>
#include <vector>

#include "device/transfers.h"
#include "util/stop_flag.h"

namespace afore::device {

struct FfnGridOptions {
  ExpertSizes sizes;
  int most_experts = 8;           // activated ones: 1, 2, 4, … up to it
  int most_tiles_per_expert = 4;  // 1, 2, 4, … up to it
  int iters = 20;
  int warmup_iters = 3;
  std::uint64_t seed = 0;
};

struct FfnPoint {
  std::int64_t tiles = 0, activated = 0;
  double p50_ns = 0;
};

// On worker 0 alone, whose arena holds most_experts experts; every tile is full. nullopt when `stop` was set (may be
// null).
std::optional<std::vector<FfnPoint>> time_ffn_grid(Transfers& transfers, const FfnGridOptions& options,
                                                   const StopFlag* stop);

}  // namespace afore::device
