#pragma once
// Slots the copies of one plan may take: neither busy nor a primary's, on workers that do not drain.
#include <cstdint>
#include <span>
#include <vector>

#include "placement/tiles/bounds.h"
#include "placement/tiles/flow.h"

namespace afore::placement::tiles {

class OpenSlots {
 public:
  static constexpr int kNone = -1;

  // Empty spans mean: no slot busy, none ever used. Both must outlive the use.
  void reset(const Standing& standing, std::span<const std::uint8_t> busy, std::span<const std::int64_t> last_used,
             std::int64_t copy_budget);
  const Room& room() const { return room_; }

  // The slot a copy to `worker` takes: the first empty one, else the least recently used whose replica has no work in
  // the flow, and none that was taken. kNone where there is none. Index into standing.slots.
  int pick(const Flow& flow, int worker) const;
  // Of the slots whose replica has work, the one with least; kNone where there is none.
  int pick_working(const Flow& flow, int worker) const;
  // Takes it; its replica leaves the flow.
  void take(Flow& flow, int slot);
  void release(Flow& flow, int slot);
  const Standing::Slot& slot(int index) const { return standing_->slots[index]; }
  bool closed(int index) const { return closed_[index] != 0; }

 private:
  const Standing* standing_ = nullptr;
  std::span<const std::int64_t> last_used_;
  std::vector<std::uint8_t> closed_;  // by slot: busy, or taken by a copy of the plan
  Room room_;
};

}  // namespace afore::placement::tiles
