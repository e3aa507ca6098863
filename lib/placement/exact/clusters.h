#pragma once
// A few workers round a busy one, reached along experts they share: small enough to be searched exactly. Two uses.
// Re-solving: the tiles that stand on them are split anew, all else stays. Proof: if even the experts that cannot
// leave the cluster do not fit under a limit, no split of the whole does.
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "placement/exact/loads.h"
#include "placement/exact/threshold_dfs.h"

namespace afore::placement::exact {

class Clusters {
 public:
  void reset(const Loads& loads);
  // Brings every worker within `limit` cluster by cluster. Where it fails the parts are as before.
  bool resolve(Loads& loads, std::int64_t limit, std::int64_t node_budget);
  // Round a worker that resolve() could not bring down, then of all workers where asked to. Infeasible: no split has
  // all loads within the limit. Feasible only of all workers: then it is applied.
  Answer prove(Loads& loads, std::int64_t limit, std::int64_t node_budget, bool try_whole);
  // All workers at once.
  Answer whole(Loads& loads, std::int64_t limit, std::int64_t node_budget);

 private:
  void grow(const Loads& loads, int worker, int size, bool along_parts);
  void grow_confined(const Loads& loads, int worker, int size);
  void enter(const Loads& loads, int worker);
  Answer search(Loads& loads, std::int64_t limit, std::int64_t node_budget, bool confined);
  void apply(Loads& loads);

  ThresholdDfs dfs_;
  std::vector<int> members_, ids_, experts_;
  std::vector<int> missing_;  // by expert: its replicas outside the members
  std::vector<char> is_near_;
  std::vector<int> border_;
  std::vector<char> inside_, listed_;
  std::vector<std::pair<std::int64_t, int>> near_;
  Loads::Saved saved_;
  int stuck_ = 0;  // a worker that resolve() could not bring down
};

}  // namespace afore::placement::exact
