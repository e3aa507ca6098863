#pragma once
// The two ends of the scale for a target: everything on contiguous primaries, and the best split found with every
// expert on every worker and copies free. Independent of any policy's placement.
#include <cstdint>
#include <memory>
#include <vector>

#include "core/records.h"
#include "placement/policy.h"

namespace afore::pipeline {

struct YardTimes {
  Nanos static_ns = 0;
  Nanos ideal_ns = 0;
  std::int64_t static_tiles = 0, ideal_tiles = 0;  // largest tile load
};

class Yardstick {
 public:
  Yardstick(const ClusterSpec& cluster, const LayerCost& cost, Objective objective);
  YardTimes measure(const Demand& demand);

 private:
  ClusterSpec cluster_;
  LayerCost cost_;
  std::unique_ptr<placement::Policy> ideal_;
  std::unique_ptr<LayerPlacement> placement_;  // contiguous primaries; made when the number of experts is known
  std::vector<std::uint8_t> busy_;
  std::vector<std::int64_t> last_used_, tiles_;
};

}  // namespace afore::pipeline
