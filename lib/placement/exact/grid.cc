#include "placement/exact/grid.h"

#include <algorithm>

namespace afore::placement::exact {
namespace {

std::int64_t floor_div(__int128 a, std::int64_t b) { return static_cast<std::int64_t>(a / b); }

}  // namespace

void Grid::reset(const Loads& loads) {
  additive_ = loads.additive();
  per_tile_ = loads.per_tile();
  per_expert_ = loads.per_expert();
  even_ = per_tile_ > 0 && per_expert_ % per_tile_ == 0;
  most_active_ = loads.most_active();
  slowdowns_.clear();
  if (loads.alike()) return;
  slowdowns_.reserve(loads.workers());
  for (int w = 0; w < loads.workers(); ++w) slowdowns_.push_back(loads.slowdown(w));
  std::sort(slowdowns_.begin(), slowdowns_.end());
  slowdowns_.erase(std::unique(slowdowns_.begin(), slowdowns_.end()), slowdowns_.end());
}

std::int64_t Grid::work_at_least(std::int64_t work) const {
  if (work <= 0) return 0;
  const std::int64_t a = per_tile_, b = per_expert_;
  if (a == 0) return b == 0 ? work : (work + b - 1) / b * b;
  const std::int64_t tiles_alone = (work + a - 1) / a * a;
  if (even_) return tiles_alone;
  if (!additive_) return std::min(tiles_alone, (work + b - 1) / b * b);
  std::int64_t best = tiles_alone;
  for (std::int64_t k = 1; k <= most_active_ && (a + b) * k <= best; ++k) {
    const std::int64_t rest = work - (a + b) * k;  // k experts have a tile each at least
    best = std::min(best, work - rest + (rest > 0 ? (rest + a - 1) / a * a : 0));
  }
  return best;
}

std::int64_t Grid::work_at_most(std::int64_t work) const {
  const std::int64_t a = per_tile_, b = per_expert_;
  if (work < 0) return -1;
  if (a == 0) return b == 0 ? work : work / b * b;
  const std::int64_t tiles_alone = work / a * a;
  if (even_) return tiles_alone;
  if (!additive_) return std::max(tiles_alone, work / b * b);
  std::int64_t best = tiles_alone;
  for (std::int64_t k = 1; k <= most_active_ && (a + b) * k <= work; ++k)
    best = std::max(best, work - (work - b * k) % a);
  return best;
}

std::int64_t Grid::at_least(std::int64_t load) const {
  if (slowdowns_.empty() || load <= 0) return work_at_least(load);
  std::int64_t best = kUnlimited;
  for (const std::int64_t s : slowdowns_) {  // ceil(work*s/1000) >= load, that is work > 1000*(load - 1)/s
    const std::int64_t work = work_at_least(floor_div(static_cast<__int128>(load - 1) * 1000, s) + 1);
    best = std::min(best, floor_div(static_cast<__int128>(work) * s + 999, 1000));
  }
  return best;
}

std::int64_t Grid::at_most(std::int64_t load) const {
  if (slowdowns_.empty() || load < 0) return work_at_most(load);
  std::int64_t best = -1;
  for (const std::int64_t s : slowdowns_) {
    const std::int64_t work = work_at_most(floor_div(static_cast<__int128>(load) * 1000, s));
    best = std::max(best, floor_div(static_cast<__int128>(work) * s + 999, 1000));
  }
  return best;
}

}  // namespace afore::placement::exact
