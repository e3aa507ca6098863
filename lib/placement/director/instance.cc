#include "placement/director/instance.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "placement/traits.h"

namespace afore::placement::director {

void Instance::reset(const Request& request, Objective objective, std::int64_t copy_budget, Link link) {
  request_ = &request;
  link_ = link;
  workers_ = request.placement.workers();
  cost_ = request.cost;
  traits_.assign(request.workers.begin(), request.workers.end());
  if (objective == Objective::tiles) {
    cost_.c0_ns = cost_.c2_ns = 0;
    cost_.c1_ns = 1;
    cost_.rule = LoadRule::additive;
    for (WorkerTraits& traits : traits_) traits.slowdown_permille = 1000;
  }
  count_tiles(request.counts, cost_.tile_tokens, tiles_);
  rows_ = std::accumulate(request.counts.begin(), request.counts.end(), std::int64_t{0});
  active_.clear();
  for (int e = 0; e < experts(); ++e)
    if (tiles_[e] > 0) active_.push_back(e);
  standing_.reset(request.placement, request.workers);
  list_slots();
  copies_ = std::min(copy_budget, std::ssize(open_));

  const auto fixed = not_for_this_target(request, fixed_);
  may_copy_.assign(experts(), 0);
  homes_.assign(experts(), -1);
  kept_.clear();
  for (const int e : active_) {
    may_copy_[e] = fixed.empty() || fixed[e] == 0;
    homes_[e] = standing_.worker(standing_.first(e));
    for (int id = standing_.first(e) + 1; id < standing_.first(e + 1); ++id)
      if (!in_open_[id]) kept_.push_back({e, standing_.worker(id)});
  }
}

// Only an expert's first slot on a worker is its replica; a second one holds nothing anybody needs.
void Instance::list_slots() {
  const LayerPlacement& placement = request_->placement;
  open_.clear();
  open_first_.assign(1, 0);
  in_open_.assign(standing_.replicas(), 0);
  for (int worker = 0; worker < workers_; ++worker) {
    for (int slot = 0; slot < placement.slots_per_worker() && !drains(request_->workers, worker); ++slot) {
      const std::size_t at = placement.index(worker, slot);
      if (request_->is_busy(worker, slot)) continue;
      if (is_kept(placement, request_->workers, worker, slot) || placement.is_primary_slot(worker, slot)) continue;
      const int expert = placement.expert_at(worker, slot);
      OpenSlot open{worker, slot, kNoExpert, expert == kNoExpert,
                    request_->last_used.empty() ? -1 : request_->last_used[at]};
      if (expert != kNoExpert && tiles_[expert] > 0 && placement.slot_of(expert, worker) == slot)
        for (int id = standing_.first(expert); id < standing_.first(expert + 1); ++id)
          if (standing_.worker(id) == worker) {
            open.holds = expert;
            in_open_[id] = 1;
          }
      open_.push_back(open);
    }
    open_first_.push_back(static_cast<int>(open_.size()));
  }
}

std::int64_t Instance::least_communication() const {
  return static_cast<std::int64_t>(std::floor(static_cast<double>(rows_) * link_.row_ns / workers_ * (1 - 1e-12)));
}

Nanos Instance::communication(std::int64_t most_rows) const {
  return static_cast<Nanos>(std::ceil(static_cast<double>(most_rows) * link_.row_ns));
}

std::int64_t Instance::bound() {
  board_.reset(tiles_, workers_, {cost_.c1_ns, cost_.c2_ns});
  board_.add_standing(request_->placement, request_->workers);
  board_.settle();
  CopyRoom room;
  for (int w = 0; w < workers_; ++w) room.per_worker.push_back(static_cast<int>(std::ssize(open_on(w))));
  room.total = std::ssize(open_);
  room.copies = copies_;
  return bounds_.time_bound(board_, cost_, traits_, room) + least_communication();
}

}  // namespace afore::placement::director
