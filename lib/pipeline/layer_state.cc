#include "pipeline/layer_state.h"

#include "util/error.h"

namespace afore::pipeline {

LayerState::LayerState(LayerPlacement initial, std::int64_t microbatches)
    : placement(std::move(initial)),
      last_used(placement.index_count(), -1),
      closed_(placement.index_count(), 0),
      busy_(closed_),
      recent_(microbatches > 0 ? static_cast<std::size_t>(microbatches - 1) : 0) {}

void LayerState::close_worker(int worker) {
  for (int slot = kStagingSlot; slot < placement.slots_per_worker(); ++slot)
    closed_[placement.index(worker, slot)] = busy_[placement.index(worker, slot)] = 1;
}

void LayerState::record_use(std::span<const TileShare> assignment, std::int64_t serial) {
  std::vector<std::size_t> used;
  if (!recent_.empty()) {
    recent_[next_].swap(used);
    used.clear();
  }
  for (const TileShare& share : assignment) {
    const int slot = placement.slot_of(share.expert, share.worker);
    AFORE_CHECK(slot != kNoSlot, "a plan uses an expert its worker does not hold");
    const std::size_t index = placement.index(share.worker, slot);
    last_used[index] = serial;
    used.push_back(index);
  }
  if (recent_.empty()) return;
  recent_[next_].swap(used);
  next_ = (next_ + 1) % recent_.size();
  busy_ = closed_;
  std::uint8_t* const busy = busy_.data();
  for (const auto& list : recent_)
    for (const std::size_t index : list) busy[index] = 1;
}

}  // namespace afore::pipeline
