#include "placement/tiles/open_slots.h"

#include <algorithm>

namespace afore::placement::tiles {

void OpenSlots::reset(const Standing& standing, std::span<const std::uint8_t> busy,
                      std::span<const std::int64_t> last_used, std::int64_t copy_budget) {
  standing_ = &standing;
  last_used_ = last_used;
  closed_.resize(standing.slots.size());
  room_.open.resize(standing.table.workers());
  room_.total = 0;
  for (int worker = 0; worker < standing.table.workers(); ++worker) {
    int open = 0;
    for (int i = standing.slot_first[worker]; i < standing.slot_first[worker + 1]; ++i) {
      closed_[i] = !busy.empty() && busy[standing.slots[i].index] != 0;
      open += closed_[i] == 0;
    }
    room_.open[worker] = open;
    room_.total += open;
  }
  room_.copies = static_cast<int>(std::min<std::int64_t>(copy_budget, room_.total));
}

int OpenSlots::pick(const Flow& flow, int worker) const {
  int best = kNone;
  for (int i = standing_->slot_first[worker]; i < standing_->slot_first[worker + 1]; ++i) {
    if (closed_[i]) continue;
    const Standing::Slot& slot = standing_->slots[i];
    if (slot.empty) return i;
    if (slot.replica != Standing::kNone && flow.part(slot.replica) > 0) continue;
    if (best == kNone || (!last_used_.empty() && last_used_[slot.index] < last_used_[standing_->slots[best].index]))
      best = i;
  }
  return best;
}

int OpenSlots::pick_working(const Flow& flow, int worker) const {
  int best = kNone;
  for (int i = standing_->slot_first[worker]; i < standing_->slot_first[worker + 1]; ++i) {
    const int replica = standing_->slots[i].replica;
    if (closed_[i] || replica == Standing::kNone || flow.part(replica) == 0) continue;
    if (best == kNone || flow.part(replica) < flow.part(standing_->slots[best].replica)) best = i;
  }
  return best;
}

void OpenSlots::take(Flow& flow, int slot) {
  closed_[slot] = 1;
  if (standing_->slots[slot].replica != Standing::kNone) flow.retire(standing_->slots[slot].replica);
}

void OpenSlots::release(Flow& flow, int slot) {
  closed_[slot] = 0;
  if (standing_->slots[slot].replica != Standing::kNone) flow.revive(standing_->slots[slot].replica);
}

}  // namespace afore::placement::tiles
