#pragma once
// Turning one layer's map into another while the layer serves: in place, a few copies at a time, never losing an
// expert's last complete replica and never overwriting a slot with recent work.
//
// Staging: a worker's staging buffer holds an expert only until that worker has it in a regular slot. From then on
// the buffer is free; apply() says so in the placement, and a caller that keeps its own state follows the same rule.
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/cost_model.h"
#include "core/placement.h"

namespace afore::migrate {

class Transition {
 public:
  // `wanted`: logical expert per regular slot, worker-major (kNoExpert allowed: no copy needed, what stands there may
  // stay). Every expert that stands in `from` must be wanted somewhere. Slots are first matched within each worker so
  // that an expert that stays on a worker stays in its slot: only copies between workers remain (and local ones, for
  // a map that wants an expert twice on one worker).
  Transition(const LayerPlacement& from, std::span<const int> wanted);

  // By placement.index(): 1 = slot waits to be replaced while its expert stands elsewhere, so it should get no new
  // work; it becomes free when it is no longer busy. Each expert keeps a worker whose slot_of() does not drain.
  // `max_slots` bounds how many slots drain at once, so that a small copy budget does not idle them early.
  const std::vector<std::uint8_t>& draining(const LayerPlacement& now,
                                            std::int64_t max_slots = std::numeric_limits<std::int64_t>::max());

  // Copies to start now, at most max_copies, in an order in which each source is complete: into slots that are not
  // busy and whose expert has another complete replica. No copy of one list overwrites what another one of it reads
  // or makes redundant, so they may also run side by side. When nothing moves and nothing drains, a worker's staging
  // buffer breaks the cycle (Copy::slot == kStagingSlot). The caller applies them to the placement.
  std::vector<Copy> next(const LayerPlacement& now, std::span<const std::uint8_t> busy, std::int64_t max_copies);

  // Puts the copy's expert into its slot and frees the worker's staging buffer when the expert came to rest.
  static void apply(LayerPlacement& placement, const Copy& copy);

  bool done(const LayerPlacement& now) const { return remaining(now) == 0; }  // whatever staging holds
  // Copies still needed, staging detours not counted.
  std::int64_t remaining(const LayerPlacement& now) const;
  const std::vector<int>& wanted() const { return wanted_; }  // after matching

 private:
  int wanted_at(int worker, int slot) const { return wanted_[static_cast<std::size_t>(worker) * slots_ + slot]; }
  bool pending(const LayerPlacement& now, int worker, int slot) const {
    return wanted_at(worker, slot) != kNoExpert && now.expert_at(worker, slot) != wanted_at(worker, slot);
  }
  void match_worker(const LayerPlacement& from, std::span<const int> wanted, int worker);
  int keeper(const LayerPlacement& now, int expert) const;
  int pick_source(const LayerPlacement& now, int expert, int to) const;
  void move_into_free_slots(const LayerPlacement& now, std::span<const std::uint8_t> busy, std::int64_t max_copies,
                            std::vector<Copy>& copies);
  void stage_cycles(const LayerPlacement& now, std::span<const std::uint8_t> busy, std::int64_t max_copies,
                    std::vector<Copy>& copies);

  int slots_;  // regular slots per worker
  std::vector<int> wanted_;
  std::vector<std::uint8_t> draining_;
  // Scratch of next(), by placement.index(), expert and worker.
  std::vector<std::uint8_t> overwritten_, read_, visited_, staging_used_;
  std::vector<int> survivors_;
  std::vector<std::int64_t> sends_;
};

}  // namespace afore::migrate
