#pragma once
// Which copies to make, as a search varies it, and what the target then takes.
#include <cstdint>
#include <vector>

#include "core/assignment.h"
#include "placement/director/instance.h"
#include "placement/exact/time_split.h"

namespace afore::placement::director {

// What the open slots hold when the target runs, by index into Instance::open(); kNoExpert = nothing the target uses.
// No expert is twice on a worker.
class Layout {
 public:
  void reset(const Instance& instance);  // what stands
  std::span<const int> held() const { return held_; }
  int held(int slot) const { return held_[slot]; }
  std::int64_t copies() const { return copies_; }
  bool is_copy(int slot) const { return held_[slot] != kNoExpert && held_[slot] != instance_->open()[slot].holds; }
  bool holds(int expert, int worker) const { return there_[index(expert, worker)]; }
  // Whether set() may: the expert is not there yet and may be copied, within the budget.
  bool can_set(int slot, int expert) const;
  void set(int slot, int expert);  // kNoExpert: back to what stands there
  // A slot of the worker for a copy: an empty one, else one of no use to the target, else the least recently used
  // replica; -1 = none. Slots with copies are not offered.
  int slot_for(int worker) const;

 private:
  std::size_t index(int expert, int worker) const {
    return static_cast<std::size_t>(expert) * instance_->workers() + worker;
  }
  void put(int slot, int expert);

  const Instance* instance_ = nullptr;
  std::vector<int> held_;
  std::vector<std::uint8_t> there_;
  std::int64_t copies_ = 0;
};

// Objectives of layouts, in ns without c0.
class Evaluator {
 public:
  void reset(const Instance& instance) { instance_ = &instance; }
  std::int64_t sketch(const Layout& layout);  // quick split
  std::int64_t split(const Layout& layout);   // the best split known
  // Of the layout last evaluated:
  const ReplicaTable& replicas() const { return table_; }
  std::span<const std::int64_t> parts() const { return parts_; }  // tiles by replica id
  void loads(std::vector<std::int64_t>& by_worker) const;         // compute
  std::vector<TileShare> assignment() const;

 private:
  SplitProblem problem(const Layout& layout);
  std::int64_t with_link(std::int64_t compute);
  const Instance* instance_ = nullptr;
  ReplicaTable table_;
  std::vector<ReplicaTable::Extra> extras_;
  ExactSplitter splitter_;
  std::vector<std::int64_t> parts_;
};

}  // namespace afore::placement::director
