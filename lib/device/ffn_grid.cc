#include "device/ffn_grid.h"

#include <algorithm>

#include "util/error.h"
#include "util/stats.h"

namespace afore::device {
namespace {

// 1, 2, 4, … and `most` itself.
std::vector<int> doubling(int most) {
  std::vector<int> values;
  for (int value = 1; value < most; value *= 2) values.push_back(value);
  values.push_back(most);
  return values;
}

}  // namespace

std::optional<std::vector<FfnPoint>> time_ffn_grid(Transfers& transfers, const FfnGridOptions& options,
                                                   const StopFlag* stop) {
  const std::int64_t slots = transfers.cut(transfers.expert_bytes(options.sizes));
  AFORE_CHECK(slots >= options.most_experts, "the arenas hold them");
  const std::int64_t tile = transfers.tile_tokens();
  transfers.prepare_ffn(options.sizes, options.most_experts,
                        options.most_experts * options.most_tiles_per_expert * tile, options.seed);
  for (int slot = 0; slot < options.most_experts; ++slot) transfers.fill(0, slot, options.seed, PatternKind::weights);

  std::vector<FfnPoint> points;
  std::vector<std::vector<double>> times;
  for (const int activated : doubling(options.most_experts))
    for (const int tiles : doubling(options.most_tiles_per_expert)) {
      points.push_back({std::int64_t{activated} * tiles, activated, 0});
      times.emplace_back();
    }
  // Round by round over the whole grid, so that a disturbance does not fall on one point alone.
  for (int i = 0; i < options.warmup_iters + options.iters; ++i) {
    for (std::size_t p = 0; p < points.size(); ++p) {
      if (stop != nullptr && *stop != 0) return std::nullopt;
      const FfnPoint& point = points[p];
      const MixTimes measured = transfers.run({.ffn_workers = 1,
                                               .experts = static_cast<int>(point.activated),
                                               .tokens = point.tiles / point.activated * tile});
      if (i >= options.warmup_iters)
        times[p].push_back(static_cast<double>(std::max<Nanos>(1, measured.ffn[0].length())));
    }
  }
  for (std::size_t p = 0; p < points.size(); ++p) points[p].p50_ns = quantile(times[p], 0.5).value();
  return points;
}

}  // namespace afore::device
