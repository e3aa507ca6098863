#pragma once
// The baseline Director is held against: simulated annealing over the same copies, by the same evaluator. One open slot
// is drawn and given another expert, or back what stood there; what is worse by d passes with probability exp(-d / T),
// and T falls geometrically.
#include <cstdint>
#include <vector>

#include "placement/director/emit.h"
#include "placement/director/layout.h"

namespace afore::placement::director {

struct AnnealOptions {
  Objective objective = Objective::time;
  std::int64_t copy_budget = 0;
  Link link;
  std::uint64_t seed = 0;  // with the target
};

class Annealer {
 public:
  // The bound is the combinatorial one.
  void solve(const Request& request, const AnnealOptions& options, Solution& solution);

 private:
  Instance instance_;
  Evaluator evaluator_;
  Layout layout_, best_layout_;
};

}  // namespace afore::placement::director
