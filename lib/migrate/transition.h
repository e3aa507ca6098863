#pragma once
// Turning one layer's map into another while the layer serves: in place, a few copies at a time, never losing an
// expert's last complete replica and never overwriting a slot with recent work.
#include <cstdint>
#include <span>
#include <vector>

#include "core/cost_model.h"
#include "core/placement.h"

namespace afore::migrate {

class Transition {
 public:
  // `wanted`: logical expert per regular slot, worker-major (kNoExpert allowed). Slots are first matched within each
  // worker so that an expert that stays on a worker stays in its slot: only copies between workers remain.
  Transition(const LayerPlacement& from, std::span<const int> wanted);

  // By placement.index(): 1 = slot waits to be replaced while its expert stands elsewhere, so it should get no new
  // work; it becomes free when it is no longer busy.
  const std::vector<std::uint8_t>& draining(const LayerPlacement& now);

  // Copies to start now, at most max_copies, in an order in which each source is complete: into slots that are not
  // busy and whose expert has another complete replica. When nothing moves and nothing drains, a worker's staging
  // buffer breaks the cycle (Copy::slot == kStagingSlot). The caller applies them to the placement.
  std::vector<Copy> next(const LayerPlacement& now, std::span<const std::uint8_t> busy, std::int64_t max_copies);

  bool done(const LayerPlacement& now) const;
  // Copies still needed, staging detours not counted.
  std::int64_t remaining(const LayerPlacement& now) const;
  const std::vector<int>& wanted() const { return wanted_; }  // after matching

 private:
  std::vector<int> wanted_;
  std::vector<std::uint8_t> draining_;
};

}  // namespace afore::migrate
