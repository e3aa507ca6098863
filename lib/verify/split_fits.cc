// The split of tiles over a fixed placement is a transportation problem: feasible at a capacity exactly when a
// maximum flow expert -> holder -> sink carries all tiles. Dinic's algorithm, arcs in pairs (i, i ^ 1).
#include <algorithm>
#include <limits>

#include "verify/state.h"

namespace afore::verify {
namespace {

class Flow {
 public:
  explicit Flow(int nodes) : first_(nodes, -1), level_(nodes), next_(nodes) {}

  void add(int from, int to, std::int64_t room) {
    arcs_.push_back({to, first_[from], room});
    first_[from] = static_cast<int>(arcs_.size()) - 1;
    arcs_.push_back({from, first_[to], 0});
    first_[to] = static_cast<int>(arcs_.size()) - 1;
  }

  std::int64_t run(int source, int sink) {
    std::int64_t total = 0;
    while (layer(source, sink)) {
      next_ = first_;
      while (const std::int64_t sent = push(source, sink, std::numeric_limits<std::int64_t>::max())) total += sent;
    }
    return total;
  }

 private:
  struct Arc {
    int to, next;
    std::int64_t room;
  };

  bool layer(int source, int sink) {
    std::fill(level_.begin(), level_.end(), -1);
    level_[source] = 0;
    std::vector<int> queue{source};
    for (std::size_t i = 0; i < queue.size(); ++i)
      for (int a = first_[queue[i]]; a >= 0; a = arcs_[a].next)
        if (arcs_[a].room > 0 && level_[arcs_[a].to] < 0) {
          level_[arcs_[a].to] = level_[queue[i]] + 1;
          queue.push_back(arcs_[a].to);
        }
    return level_[sink] >= 0;
  }

  // Depth is at most the number of nodes on a shortest path; paths alternate experts and workers.
  std::int64_t push(int node, int sink, std::int64_t most) {
    if (node == sink) return most;
    for (int& a = next_[node]; a >= 0; a = arcs_[a].next) {
      if (arcs_[a].room == 0 || level_[arcs_[a].to] != level_[node] + 1) continue;
      const std::int64_t sent = push(arcs_[a].to, sink, std::min(most, arcs_[a].room));
      if (sent == 0) continue;
      arcs_[a].room -= sent;
      arcs_[a ^ 1].room += sent;
      return sent;
    }
    return 0;
  }

  std::vector<Arc> arcs_;
  std::vector<int> first_, level_, next_;
};

}  // namespace

bool split_fits(const Counts& tiles, const std::vector<std::vector<int>>& holders, int workers, std::int64_t capacity) {
  if (capacity < 0) return false;
  const int experts = static_cast<int>(tiles.size()), source = experts + workers, sink = source + 1;
  Flow flow(sink + 1);
  std::int64_t total = 0;
  for (int e = 0; e < experts; ++e) {
    if (tiles[e] == 0) continue;
    total += tiles[e];
    flow.add(source, e, tiles[e]);
    for (const int worker : holders[e]) flow.add(e, experts + worker, tiles[e]);
  }
  for (int w = 0; w < workers; ++w) flow.add(experts + w, sink, capacity);
  return flow.run(source, sink) == total;
}

}  // namespace afore::verify
