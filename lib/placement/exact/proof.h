#pragma once
// Closes the gap between a split and its bound: thresholds between them are searched until the split meets the bound
// or a search runs out of nodes.
#include <cstdint>

#include "placement/exact/bounds.h"
#include "placement/exact/clusters.h"
#include "placement/exact/grid.h"
#include "placement/exact/loads.h"
#include "placement/exact/search.h"
#include "placement/exact/waste.h"
#include "placement/split_problem.h"

namespace afore::placement::exact {

class Proof {
 public:
  // `result` holds the load that stands and a valid bound; the loads change where a better split is found.
  void run(Loads& loads, const Grid& grid, SplitBounds& bounds, Search& search, std::int64_t node_budget,
           SplitResult& result);

 private:
  void raise_by_waste(const Loads& loads, const Grid& grid, SplitBounds& bounds, SplitResult& result);
  void scan(Loads& loads, const Grid& grid, std::int64_t node_budget, SplitResult& result);
  void by_clusters(Loads& loads, const Grid& grid, Search& search, std::int64_t node_budget, SplitResult& result);

  Waste waste_;
  Clusters clusters_;
};

}  // namespace afore::placement::exact
