#pragma once
// What a stream of demand looks like, layer by layer (docs/metrics.md).
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "core/ids.h"

namespace afore::trace {

struct LayerStatistics {
  int layer = 0;
  std::int64_t targets = 0;
  std::int64_t tokens = 0;
  std::vector<std::int64_t> counts;  // by expert, all targets together
  double imbalance_sum = 0;          // over targets with work: max / mean of the experts' counts
  std::int64_t imbalance_targets = 0;
  double worker_mean_sum = 0;  // over targets: mean load of the workers, in assignments
  double worker_max_sum = 0;
  double reuse_sum = 0;  // over targets whose microbatch had this layer one step earlier
  std::int64_t reuse_targets = 0;

  // Mean over targets; 0 without any.
  double imbalance() const {
    return imbalance_targets == 0 ? 0 : imbalance_sum / static_cast<double>(imbalance_targets);
  }
  // Sum of means over sum of maxima, 1 = even; under the initial placement (expert e on worker floor(e*N/E)).
  double balancedness() const { return worker_max_sum == 0 ? 0 : worker_mean_sum / worker_max_sum; }
  // Share of the `hot` hottest experts of a target (ties to the lower index) that were among the `hot` hottest of the
  // same layer and microbatch one step earlier; mean over targets.
  double reuse() const { return reuse_targets == 0 ? 0 : reuse_sum / static_cast<double>(reuse_targets); }
};

class Statistics {
 public:
  Statistics(int workers, int hot) : workers_(workers), hot_(hot) {}

  void add(const Target& target, std::int64_t tokens, std::span<const std::int64_t> counts);
  std::vector<LayerStatistics> layers() const;  // ascending
  LayerStatistics total() const;                // all layers in one; counts empty, layer -1

 private:
  struct Hottest {
    std::int64_t step = -1;
    std::vector<int> experts;  // ascending
  };
  void compare_hottest(const Target& target, std::span<const std::int64_t> counts, LayerStatistics& layer);

  int workers_, hot_;
  std::map<int, LayerStatistics> layers_;
  std::map<std::pair<int, int>, Hottest> hottest_;  // by layer and microbatch
  std::vector<std::int64_t> loads_;
  std::vector<int> order_;
};

}  // namespace afore::trace
