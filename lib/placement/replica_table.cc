#include "placement/replica_table.h"

#include <algorithm>
#include <numeric>

namespace afore::placement {

void ReplicaTable::reset(const LayerPlacement& placement, std::span<const WorkerTraits> traits) {
  bool same = placement.stamp() == stamp_ && static_cast<int>(draining_.size()) == placement.workers();
  for (int w = 0; same && w < placement.workers(); ++w) same = (draining_[w] != 0) == drains(traits, w);
  if (same) return;
  stamp_ = placement.stamp();
  workers_ = placement.workers();
  draining_.resize(workers_);
  for (int w = 0; w < workers_; ++w) draining_[w] = drains(traits, w);

  const int experts = placement.experts();
  std::size_t most = 0;
  for (int expert = 0; expert < experts; ++expert) most += placement.holders(expert).size();
  worker_.resize(most);
  expert_.resize(most);
  first_.resize(experts + 1);
  first_[0] = 0;
  replicated_.clear();
  int next = 0;
  for (int expert = 0; expert < experts; ++expert) {
    const auto holders = placement.holders(expert);
    const auto drain = [&](int worker) { return drains(traits, worker); };
    const bool any_drain = !traits.empty() && std::any_of(holders.begin(), holders.end(), drain);
    const bool all_drain = any_drain && std::all_of(holders.begin(), holders.end(), drain);
    const auto add = [&](int worker) {
      if (any_drain && !all_drain && drain(worker)) return;
      worker_[next] = worker;
      expert_[next++] = expert;
    };
    if (holders.size() == 1) {
      add(holders.front());
    } else if (!holders.empty()) {
      const int home = placement.primary(expert);
      add(home);
      for (const int worker : holders)
        if (worker != home) add(worker);
    }
    first_[expert + 1] = next;
    if (count(expert) > 1) replicated_.push_back(expert);
  }
  worker_.resize(next);
  expert_.resize(next);

  index_workers();
}

void ReplicaTable::assign(std::span<const int> homes, int workers, std::span<const Extra> extras) {
  stamp_ = 0;
  workers_ = workers;
  const int experts = static_cast<int>(homes.size());
  first_.assign(experts + 1, 0);
  for (int e = 0; e < experts; ++e) first_[e + 1] = homes[e] >= 0;
  for (const Extra& extra : extras) ++first_[extra.expert + 1];
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  worker_.resize(first_.back());
  expert_.resize(first_.back());
  next_.assign(first_.begin(), first_.end() - 1);
  const auto add = [&](int expert, int worker) {
    expert_[next_[expert]] = expert;
    worker_[next_[expert]++] = worker;
  };
  for (int e = 0; e < experts; ++e)
    if (homes[e] >= 0) add(e, homes[e]);
  for (const Extra& extra : extras) add(extra.expert, extra.worker);
  replicated_.clear();
  for (int e = 0; e < experts; ++e)
    if (count(e) > 1) {
      replicated_.push_back(e);
      std::sort(worker_.begin() + first_[e] + 1, worker_.begin() + first_[e + 1]);
    }
  index_workers();
}

void ReplicaTable::index_workers() {
  worker_first_.assign(workers_ + 1, 0);
  for (const int worker : worker_) ++worker_first_[worker + 1];
  std::partial_sum(worker_first_.begin(), worker_first_.end(), worker_first_.begin());
  on_worker_.resize(worker_.size());
  next_.assign(worker_first_.begin(), worker_first_.end() - 1);
  for (int id = 0; id < replicas(); ++id) on_worker_[next_[worker_[id]]++] = id;
}

}  // namespace afore::placement
