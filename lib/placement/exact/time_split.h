#pragma once
// The split of one target over fixed replicas that makes the largest load least, and what is proved of it. NP-hard
// already for two workers (equal-cardinality partition), so: a quick search first, then bounds, searches for a split
// under a threshold and proofs that there is none, within a budget of nodes. No clock, no state between problems.
#include <cstdint>
#include <memory>
#include <vector>

#include "placement/split_problem.h"

namespace afore::placement {

class ExactSplitter {
 public:
  ExactSplitter();
  ~ExactSplitter();
  ExactSplitter(ExactSplitter&&) noexcept;
  ExactSplitter& operator=(ExactSplitter&&) noexcept;

  // `parts`: tiles by replica id of problem.replicas; filled. The best of {search, everything on primaries, a
  // tile-optimal split} under the problem's rule; of equal loads the one with fewer activated experts as far as
  // merging parts finds it. The bound is that of volume, pinned workers, Hall prefixes and forced parts. Once buffers
  // have grown to the problem's size nothing is allocated. All loads together must stay below 2^62.
  SplitResult plan(const SplitProblem& problem, std::vector<std::int64_t>& parts);

  // A split in a fraction of plan()'s time, for comparing placements: longest experts first, then single moves. Returns
  // the largest load; no bound is sought.
  std::int64_t sketch(const SplitProblem& problem, std::vector<std::int64_t>& parts);

  // Goes on from plan()'s parts of the same problem, or from any whole split of it: raises the bound, and improves
  // the parts in place until both meet or `node_budget` nodes per threshold search did not suffice (budget_hit).
  SplitResult prove(const SplitProblem& problem, std::vector<std::int64_t>& parts, std::int64_t node_budget);

 private:
  struct Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace afore::placement
