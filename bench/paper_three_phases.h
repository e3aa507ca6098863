#pragma once
// The three phases of AFORE (arXiv 2610.03203, section 5.2) as its text tells them, written plainly: direct pairs
// only, standard containers, no residual paths, no bounds. The yardstick the planner's speed is stated against.
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "placement/policy.h"

namespace afore::bench {

class PaperThreePhases final : public placement::Policy {
 public:
  // `threshold`: a move must be of more tiles than this (the paper's compactness threshold).
  PaperThreePhases(const placement::Limits& limits, std::int64_t threshold) : limits_(limits), threshold_(threshold) {}

  // One layer: the assignment of the preceding call is where phase 1 starts.
  void plan(const placement::Request& request, placement::Decision& decision) override;

 private:
  using Shares = std::vector<std::map<int, std::int64_t>>;  // by worker: expert -> tiles

  void adapt(const std::vector<std::int64_t>& tiles, const LayerPlacement& placement);
  bool holds(int expert, int worker) const;
  void shift(int expert, int from, int to, std::int64_t tiles);
  void rebalance();
  int safe_slot(const placement::Request& request, int worker, const std::set<std::size_t>& reserved) const;
  void replicate(const placement::Request& request, std::vector<Copy>& copies);
  void count_loads();

  placement::Limits limits_;
  std::int64_t threshold_;
  Shares shares_;
  std::vector<std::vector<int>> holders_;  // by expert, grows with the copies of the plan
  std::vector<std::int64_t> load_;
};

}  // namespace afore::bench
