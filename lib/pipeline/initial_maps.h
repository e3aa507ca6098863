#pragma once
// The maps that layers start with, where they are not the contiguous ones of docs/records.md "placement".
#include <map>
#include <vector>

#include "core/records.h"
#include "placement/policy.h"

namespace afore::pipeline {

using InitialMaps = std::map<int, PlacementRecord>;  // by layer

// Primaries balanced on what the layers' targets had to do before weights are loaded. Observes whole demands in any
// order, all of one model; maps() lacks layers that had none.
class PrimaryHistory {
 public:
  PrimaryHistory(const ClusterSpec& cluster, const LayerCost& cost, Objective objective)
      : cluster_(cluster), cost_(cost), objective_(objective) {}
  void observe(const Demand& demand);
  InitialMaps maps() const;

 private:
  ClusterSpec cluster_;
  LayerCost cost_;
  Objective objective_;
  std::size_t experts_ = 0;
  std::map<int, std::vector<std::int64_t>> loads_;  // by layer: [targets][experts]
};

}  // namespace afore::pipeline
