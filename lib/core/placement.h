#pragma once
// Which expert stands in which slot of which FFN worker, for one layer.
// A worker has `slots_per_worker` slots of equal size and one staging buffer (kStagingSlot), used only to break
// cycles while re-homing. Plain value: copyable, owns its memory.
#include <cstdint>
#include <span>
#include <vector>

#include "core/model_spec.h"

namespace afore {

inline constexpr int kNoExpert = -1;
inline constexpr int kStagingSlot = -1;
inline constexpr int kNoSlot = -2;

class LayerPlacement {
 public:
  LayerPlacement(int experts, int workers, int slots_per_worker);

  // Expert e's primary on worker floor(e*N/E), primaries in the first slots in expert order, then empty slots;
  // slots_per_worker = ceil(E/N) + redundant_slots (docs/records.md, "placement").
  static LayerPlacement initial(int experts, int workers, int redundant_slots);

  int experts() const { return experts_; }
  int workers() const { return workers_; }
  int slots_per_worker() const { return slots_per_worker_; }

  int expert_at(int worker, int slot) const { return slots_[index(worker, slot)]; }
  // kNoSlot when the worker does not hold the expert; regular slots are preferred to staging.
  int slot_of(int expert, int worker) const;
  bool holds(int expert, int worker) const { return slot_of(expert, worker) != kNoSlot; }
  // Workers holding the expert, ascending, each once.
  std::span<const int> holders(int expert) const { return holders_[expert]; }
  // The fixed primary, or after re-homing the lowest-index holder. -1 when nobody holds it.
  int primary(int expert) const;
  bool is_primary_slot(int worker, int slot) const;
  bool rehomed() const { return rehomed_; }

  // Puts `expert` (or kNoExpert) into the slot, replacing what it held.
  void set(int worker, int slot, int expert);
  // The expert's primary from now on, on a worker that holds it: after the worker of its first one was lost.
  void fix_primary(int expert, int worker);
  // From now on primaries are the lowest-index holders.
  void mark_rehomed();

  // Worker-major, slots_per_worker entries each, kNoExpert = empty; without staging. For placement records.
  std::vector<int> physical_to_logical() const;
  // An expert's primary is its initial worker where that holds it, else the lowest-index worker that does; it stays
  // that whatever is copied later.
  static LayerPlacement from_physical(int experts, int workers, int slots_per_worker,
                                      std::span<const int> physical_to_logical);

  // Flat index over regular slots and staging: worker * (slots_per_worker + 1) + slot, staging last.
  std::size_t index(int worker, int slot) const {
    return static_cast<std::size_t>(worker) * (slots_per_worker_ + 1) +
           (slot == kStagingSlot ? slots_per_worker_ : slot);
  }
  std::size_t index_count() const { return slots_.size(); }

  // Changes whenever the placement does, and no other placement has it but copies of this one: what was derived from a
  // placement of this stamp still holds.
  std::uint64_t stamp() const { return stamp_; }

  bool operator==(const LayerPlacement& other) const {
    return experts_ == other.experts_ && workers_ == other.workers_ && slots_per_worker_ == other.slots_per_worker_ &&
           slots_ == other.slots_ && fixed_primary_ == other.fixed_primary_ && rehomed_ == other.rehomed_;
  }

 private:
  void changed();

  int experts_, workers_, slots_per_worker_;
  std::vector<int> slots_;  // by index()
  std::vector<std::vector<int>> holders_;
  std::vector<int> fixed_primary_;  // worker by expert, set by initial()/from_physical(); -1 = none
  bool rehomed_ = false;
  std::uint64_t stamp_ = 0;
};

inline bool drains(std::span<const WorkerTraits> traits, int worker) {
  return !traits.empty() && traits[worker].draining;
}
// The expert's primary; where that is on a draining worker, the lowest-index holder that is not, if there is one.
// Copies overwrite it as little as a primary: work would have to go back to the draining worker. -1 when nobody holds
// it.
int stand_in(const LayerPlacement& placement, int expert, std::span<const WorkerTraits> traits);

// floor(e*N/E): the worker of an expert's initial primary.
inline int initial_primary(int expert, int experts, int workers) {
  return static_cast<int>(static_cast<std::int64_t>(expert) * workers / experts);
}

}  // namespace afore
