#pragma once
// What earlier targets say about a coming one, for planning without the target's own demand.
#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "core/records.h"

namespace afore::demand {

// Same layer and microbatch position, latest earlier step (AFORE's ablation "A1": history of the previous step).
class LastStep {
 public:
  void observe(const Demand& demand);
  // Zeros where nothing was seen yet.
  void guess(const Target& target, int experts, std::vector<std::int64_t>& counts) const;

 private:
  std::map<std::pair<int, int>, std::vector<std::int64_t>> last_;  // by (layer, microbatch)
};

// Mean target of a layer over its last `steps` steps, all microbatches together.
class Window {
 public:
  explicit Window(int steps) : steps_(steps) {}
  void observe(const Demand& demand);
  void guess(const Target& target, int experts, std::vector<std::int64_t>& counts) const;  // rounded mean per target
  // Sum over the window; zeros where nothing was seen.
  void sum(int layer, int experts, std::vector<std::int64_t>& counts) const;

 private:
  struct Step {
    std::int64_t step = 0;
    std::int64_t targets = 0;
    std::vector<std::int64_t> counts;
  };
  struct Layer {
    std::deque<Step> steps;
    std::int64_t targets = 0;
    std::vector<std::int64_t> counts;  // running sum over `steps`
  };
  int steps_;
  std::map<int, Layer> layers_;
};

}  // namespace afore::demand
