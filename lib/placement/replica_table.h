#pragma once
// The replicas of one layer, flat: what the searches over fixed replicas read. A replica id stands for one (expert,
// worker) pair; the ids of an expert are consecutive, its primary first, then by worker.
#include <cstdint>
#include <span>
#include <vector>

#include "core/placement.h"
#include "placement/policy.h"

namespace afore::placement {

class ReplicaTable {
 public:
  // Does nothing when it holds this very placement (LayerPlacement::stamp) already. A draining worker's replicas count
  // only where an expert has no other. Experts that nobody holds have no replicas.
  void reset(const LayerPlacement& placement, std::span<const WorkerTraits> traits = {});

  int experts() const { return static_cast<int>(first_.size()) - 1; }
  int workers() const { return workers_; }
  int replicas() const { return static_cast<int>(worker_.size()); }
  int first(int expert) const { return first_[expert]; }  // ids of `expert`: [first(e), first(e + 1))
  int count(int expert) const { return first_[expert + 1] - first_[expert]; }
  int worker(int id) const { return worker_[id]; }
  int expert(int id) const { return expert_[id]; }
  std::span<const int> of_worker(int worker) const {  // ids on the worker, ascending
    return std::span(on_worker_).subspan(worker_first_[worker], worker_first_[worker + 1] - worker_first_[worker]);
  }
  std::span<const int> replicated() const { return replicated_; }  // experts with more than one replica, ascending

 private:
  int workers_ = 0;
  std::uint64_t stamp_ = 0;
  std::vector<std::uint8_t> draining_;
  std::vector<int> first_{0}, worker_, expert_, worker_first_, on_worker_, replicated_, next_;
};

}  // namespace afore::placement
