#include "placement/director/hull.h"

#include <algorithm>

namespace afore::placement::director {
namespace {

constexpr std::int64_t kPlenty = std::int64_t{1} << 40;  // tiles, where they cost nothing

std::int64_t tiles_beside(const LayerCost& cost, std::int64_t room, std::int64_t active) {
  const std::int64_t taken = cost.c2_ns * active;
  if (taken > room) return -1;
  const std::int64_t left = cost.rule == LoadRule::additive ? room - taken : room;
  return cost.c1_ns == 0 ? kPlenty : left / cost.c1_ns;
}

}  // namespace

Edge Hull::between(const Point& a, const Point& b) const {
  const double slope = static_cast<double>(a.tiles - b.tiles) / static_cast<double>(b.active - a.active);
  // The limit by either end, whichever rounds up more: the edge must not cut off a pair that fits.
  const double limit = std::max(static_cast<double>(a.tiles) + slope * static_cast<double>(a.active),
                                static_cast<double>(b.tiles) + slope * static_cast<double>(b.active));
  return {1, slope, limit};
}

void Hull::reset(const LayerCost& cost, std::int64_t room, int most_active, double active) {
  points_.clear();
  std::int64_t last = 0;
  for (std::int64_t a = 0; a <= most_active; ++a) {
    const Point next{a, tiles_beside(cost, room, a)};
    if (next.tiles < a) break;
    last = a;
    while (points_.size() > 1) {
      const Point &p = points_[points_.size() - 2], &q = points_.back();
      if ((q.tiles - p.tiles) * (next.active - p.active) > (next.tiles - p.tiles) * (q.active - p.active)) break;
      points_.pop_back();
    }
    points_.push_back(next);
  }
  std::fill(std::begin(edges_), std::end(edges_), Edge{});
  if (last == 0) return;  // no expert has room for a tile
  std::size_t at = 0;
  while (at + 2 < points_.size() && static_cast<double>(points_[at + 1].active) <= active) ++at;
  edges_[0] = between(points_[at], points_[at + 1]);
  const std::size_t next = std::min(at + 1, points_.size() - 2);
  edges_[1] = between(points_[next], points_[next + 1]);
  edges_[2] = {0, 1, static_cast<double>(last)};
}

}  // namespace afore::placement::director
