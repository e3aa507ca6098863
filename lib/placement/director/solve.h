#pragma once
// Director's placement optimiser (arXiv 2607.08782), one layer's target at a time: which copies to make and how to
// split every expert's tiles, so that max compute + max communication (instance.h) is least. Binary search on the
// target between a lower bound and the best split over what stands; at each target a linear relaxation, and where that
// is feasible randomised rounding. The same request, options and seed give the same plan.
#include <cstdint>
#include <vector>

#include "placement/director/emit.h"
#include "placement/director/instance.h"
#include "placement/director/layout.h"
#include "placement/director/relaxation.h"
#include "placement/director/rounding.h"

namespace afore::placement::director {

struct Options {
  Objective objective = Objective::time;  // tiles: a tile is one ns, and nothing else counts
  std::int64_t copy_budget = 0;
  Link link;
  std::uint64_t seed = 0;  // with the target
};

class Solver {
 public:
  // As for policies: experts with demand must have a replica.
  void solve(const Request& request, const Options& options, Solution& solution);

 private:
  int search(const Options& options);  // linear programs solved
  bool try_target(std::int64_t target, Rng& rng);
  void consider(const Layout& layout);

  Instance instance_;
  Relaxation relaxation_;
  Evaluator evaluator_;
  Rounding rounding_;
  Layout layout_, best_layout_;
  std::vector<Wish> wishes_;
  std::vector<TileShare> standing_, best_assignment_;
  std::int64_t best_ = 0, proven_ = 0;
};

}  // namespace afore::placement::director
