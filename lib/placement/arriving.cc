#include "placement/arriving.h"

namespace afore::placement {

Request WithoutArriving::request(const Request& asked, std::span<const Arriving> arriving) {
  unready_.clear();
  for (const Arriving& replica : arriving) {
    if (asked.placement.expert_at(replica.worker, replica.slot) != replica.expert ||
        asked.placement.primary(replica.expert) == replica.worker)
      continue;
    if (unready_.empty()) {
      placement_ = asked.placement;
      closed_.assign(asked.busy.begin(), asked.busy.end());
      closed_.resize(placement_->index_count(), 0);
      pinned_.assign(asked.pinned.begin(), asked.pinned.end());
      pinned_.resize(placement_->experts(), 0);
    }
    placement_->set(replica.worker, replica.slot, kNoExpert);
    closed_[placement_->index(replica.worker, replica.slot)] = 1;
    pinned_[replica.expert] = 1;
    unready_.push_back({replica.expert, replica.worker});
  }
  if (unready_.empty()) return asked;
  return {asked.target, asked.counts,    *placement_, closed_,       asked.last_used,
          asked.cost,   asked.window_ns, pinned_,     asked.workers, asked.kept};
}

}  // namespace afore::placement
