#pragma once
// Targets the planners are timed on, and what it takes to walk through them: seeded, the same in every run.
#include <cstdint>
#include <memory>
#include <vector>

#include "core/cost_model.h"
#include "placement/policy.h"

namespace afore::bench {

using Counts = std::vector<std::int64_t>;

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  double uniform();
  double normal();

 private:
  std::uint64_t state_;
};

// Lognormal popularity (sigma 1) that drifts with correlation 0.95 from target to target, as routing does between
// neighbouring steps; 4,096 tokens of 8 experts each.
std::vector<Counts> correlated_targets(int experts, int targets);

// GLM-4.5-Air shape on an H100: c1 64 tokens of arithmetic, c2 34.6 MB of weights.
LayerCost bench_cost();

// One planner walking through the targets: copies are applied, and with `busy` slots with work in the last target may
// not be overwritten, as where its work still runs.
class Walk {
 public:
  Walk(std::unique_ptr<placement::Policy> policy, const std::vector<Counts>& targets, int workers, int slots,
       bool busy);

  // Plans the next target; nanoseconds of the decision alone.
  std::int64_t step();

  double per_target(std::int64_t sum) const { return static_cast<double>(sum) / static_cast<double>(at_); }
  double copies() const { return per_target(copies_); }
  double certified() const { return per_target(certified_); }
  double max_tiles() const { return per_target(max_tiles_); }
  double activated() const { return per_target(activated_); }
  double max_us() const { return per_target(max_ns_) / 1e3; }

 private:
  std::unique_ptr<placement::Policy> policy_;
  const std::vector<Counts>& targets_;
  LayerPlacement placement_;
  LayerCost cost_;
  placement::Decision decision_;
  bool hold_;
  std::vector<std::uint8_t> busy_;
  std::vector<std::int64_t> last_used_;
  std::int64_t at_ = 0, copies_ = 0, certified_ = 0, max_tiles_ = 0, max_ns_ = 0, activated_ = 0;
};

}  // namespace afore::bench
