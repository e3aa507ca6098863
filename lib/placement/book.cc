#include <algorithm>
#include <numeric>

#include "placement/rivals.h"
#include "placement/traits.h"
#include "util/error.h"

namespace afore::placement {

void Book::open(const Request& request, std::int64_t copy_budget) {
  counts_ = request.counts;
  closed_ = request.busy;
  last_used_ = request.last_used;
  pinned_ = request.pinned;
  traits_ = request.workers;
  before_ = &request.placement;
  copies_left_ = copy_budget;
  if (after_) *after_ = request.placement;
  else after_ = std::make_unique<LayerPlacement>(request.placement);
  needed_.assign(after_->index_count(), 0);
  copies_.clear();
  tokens_.clear();
}

std::int64_t Book::primary_loads(std::vector<std::int64_t>& load) const {
  load.assign(workers(), 0);
  std::int64_t total = 0;
  for (int e = 0; e < experts(); ++e) {
    total += count(e);
    if (count(e) > 0) load[primary(e)] += count(e);
  }
  return total;
}

void Book::hottest_first(std::vector<int>& experts) const {
  experts.resize(counts_.size());
  std::iota(experts.begin(), experts.end(), 0);
  std::stable_sort(experts.begin(), experts.end(), [&](int a, int b) { return count(a) > count(b); });
}

int Book::least_loaded(int expert, int home, std::span<const std::int64_t> load) const {
  int best = -1;
  for (int w = 0; w < workers(); ++w) {
    if (w == home || (best >= 0 && load[w] >= load[best])) continue;
    if (holds(expert, w) || can_copy(expert, w)) best = w;
  }
  return best;
}

// Empty ones first, then the least recently used; kNoSlot when there is none.
int Book::free_slot(int worker) const {
  int best = kNoSlot;
  std::int64_t oldest = 0;
  for (int slot = 0; slot < after_->slots_per_worker(); ++slot) {
    const std::size_t at = after_->index(worker, slot);
    if (needed_[at] != 0 || (!closed_.empty() && closed_[at] != 0) || is_kept(*before_, traits_, worker, slot))
      continue;
    if (after_->expert_at(worker, slot) == kNoExpert) return slot;
    if (before_->is_primary_slot(worker, slot)) continue;
    const std::int64_t used = last_used_.empty() ? -1 : last_used_[at];
    if (best == kNoSlot || used < oldest) {
      best = slot;
      oldest = used;
    }
  }
  return best;
}

bool Book::can_copy(int expert, int worker) const {
  return copies_left_ > 0 && (pinned_.empty() || pinned_[expert] == 0) && free_slot(worker) != kNoSlot;
}

bool Book::bring(int expert, int worker) {
  if (!can_copy(expert, worker)) return false;
  const int slot = free_slot(worker);
  copies_.push_back({expert, primary(expert), worker, slot});
  after_->set(worker, slot, expert);
  needed_[after_->index(worker, slot)] = 1;
  copies_left_ -= 1;
  return true;
}

bool Book::copy(int expert, int worker) {
  if (!holds(expert, worker) && !bring(expert, worker)) return false;
  needed_[after_->index(worker, after_->slot_of(expert, worker))] = 1;
  return true;
}

bool Book::give(int expert, int worker, std::int64_t tokens) {
  AFORE_CHECK(tokens > 0, "a rule gives no tokens");
  if (!copy(expert, worker)) return false;
  tokens_.push_back({expert, worker, tokens});
  return true;
}

}  // namespace afore::placement
