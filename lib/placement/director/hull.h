#pragma once
// What fits one worker at a limit: tiles and active experts are whole numbers, and an active expert has a tile.
#include <cstdint>
#include <vector>

#include "core/cost_model.h"

namespace afore::placement::director {

// per_tile * tiles + per_active * active <= limit; limit 0 = nothing fits, and then both factors are 0.
struct Edge {
  double per_tile = 0, per_active = 0, limit = 0;
};

class Hull {
 public:
  static constexpr int kEdges = 3;
  // Edges of the convex hull of the pairs within `room` ns of unslowed load: the one at `active` experts, the next
  // towards more of them, and the most of them there can be.
  void reset(const LayerCost& cost, std::int64_t room, int most_active, double active);
  const Edge& edge(int index) const { return edges_[index]; }

 private:
  struct Point {
    std::int64_t active, tiles;
  };
  Edge between(const Point& a, const Point& b) const;

  std::vector<Point> points_;
  Edge edges_[kEdges];
};

}  // namespace afore::placement::director
