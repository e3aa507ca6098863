#pragma once
// Whether predictions pay, layer by layer, where slots are shared with residents (policy joined): half of a worker's
// redundant slots are given to copies made ahead only while what those save is more than what residents save there.
//
// A layer without them is tried: of a dozen targets each is split over what stands, and over what would stand had its
// prediction been acted on. A layer with them is watched: each target is split with and without what they brought. All
// splits are of the target's true demand. Rules of thumb, chosen on recorded traces (docs/director.md, "joined").
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "core/records.h"
#include "pipeline/ahead_planner.h"
#include "placement/policy.h"

namespace afore::pipeline {

class AheadJudge {
 public:
  AheadJudge(const ClusterSpec& cluster, const LayerCost& cost, const placement::Limits& limits);

  // By LayerPlacement::index(), 1 = a slot for predictions; empty where the layer has none now.
  std::span<const std::uint8_t> slots(int layer) const;
  // The target was asked for: `standing` is what it finds ready, `predicted` what was expected of it ahead (nullptr =
  // nothing), in a window of `window_ns`.
  void observe(const Demand& demand, const LayerState& state, const LayerPlacement& standing,
               const std::vector<std::int64_t>* predicted, Nanos window_ns, AheadPlanner& ahead);

 private:
  struct Layer {
    bool on = false;
    int targets = 0;                        // since it went on; tried since it went off
    double gain = 0, lost = 0;              // shares of the FFN time: sums while tried
    double saved = 0, worth = 0;            // while on: mean saving, and what residents would save instead
    std::int64_t rest = 24, last_rest = 0;  // residents settle first
    std::vector<std::uint8_t> slots;
  };

  double value(const Demand& demand, const LayerPlacement& placement);
  void try_out(const Demand& demand, const LayerState& state, const LayerPlacement& standing,
               std::span<const std::int64_t> predicted, Nanos window_ns, AheadPlanner& ahead, Layer& layer);
  void watch(const Demand& demand, const LayerPlacement& standing, Layer& layer);

  ClusterSpec cluster_;
  LayerCost cost_;
  bool by_tiles_;
  std::unique_ptr<placement::Policy> splitter_;
  std::map<int, Layer> layers_;
  placement::Decision decision_;
  std::vector<std::uint8_t> closed_;
};

}  // namespace afore::pipeline
