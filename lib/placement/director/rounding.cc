#include "placement/director/rounding.h"

#include <algorithm>
#include <numeric>

namespace afore::placement::director {
namespace {

constexpr int kReceivers = 4;
constexpr int kDonorExperts = 6;

}  // namespace

void Rounding::reset(const Instance& instance, Evaluator& evaluator) {
  instance_ = &instance;
  evaluator_ = &evaluator;
}

void Rounding::draw(std::span<const Wish> wishes, bool sure, Rng& rng, Layout& layout) {
  layout.reset(*instance_);
  for (const Wish& wish : wishes) {
    if (sure ? wish.copy < 0.5 : rng.uniform() >= wish.copy) continue;
    const int slot = layout.slot_for(wish.worker);
    if (slot >= 0 && layout.can_set(slot, wish.expert)) layout.set(slot, wish.expert);
  }
}

Rounding::Score Rounding::score(const Layout& layout) {
  Score score;
  score.objective = evaluator_->sketch(layout);
  evaluator_->loads(loads_);
  const double mean = static_cast<double>(std::accumulate(loads_.begin(), loads_.end(), std::int64_t{0})) /
                      static_cast<double>(loads_.size());
  for (const std::int64_t load : loads_) {
    const double above = std::max(0.0, static_cast<double>(load) - mean);
    score.above += above * above;
  }
  return score;
}

// For the layout last scored.
void Rounding::list_moves(const Layout& layout) {
  const Instance& in = *instance_;
  moves_.clear();
  const int donor = static_cast<int>(std::max_element(loads_.begin(), loads_.end()) - loads_.begin());
  receivers_.clear();
  for (int w = 0; w < in.workers(); ++w)
    if (w != donor && !in.open_on(w).empty()) receivers_.push_back(w);
  const auto end = receivers_.begin() + std::min<std::ptrdiff_t>(kReceivers, std::ssize(receivers_));
  std::partial_sort(receivers_.begin(), end, receivers_.end(),
                    [&](int a, int b) { return loads_[a] != loads_[b] ? loads_[a] < loads_[b] : a < b; });
  receivers_.erase(end, receivers_.end());
  std::vector<int> ids;
  for (const int id : evaluator_->replicas().of_worker(donor))
    if (evaluator_->parts()[id] > 0 && in.may_copy(evaluator_->replicas().expert(id))) ids.push_back(id);
  std::stable_sort(ids.begin(), ids.end(),
                   [&](int a, int b) { return evaluator_->parts()[a] > evaluator_->parts()[b]; });
  if (ids.size() > kDonorExperts) ids.resize(kDonorExperts);
  for (const int id : ids) {
    const int expert = evaluator_->replicas().expert(id);
    for (const int w : receivers_) {
      const int slot = layout.slot_for(w);
      if (slot >= 0 && layout.can_set(slot, expert)) moves_.push_back({slot, expert});
      for (int i = 0; i < static_cast<int>(in.open_on(w).size()); ++i)
        if (layout.is_copy(in.first_open(w) + i) && layout.can_set(in.first_open(w) + i, expert))
          moves_.push_back({in.first_open(w) + i, expert});
    }
  }
}

bool Rounding::step(Layout& layout, Score& best) {
  list_moves(layout);
  Move chosen{-1, kNoExpert};
  for (const Move& move : moves_) {
    const int before = layout.is_copy(move.slot) ? layout.held(move.slot) : kNoExpert;
    layout.set(move.slot, move.expert);
    const Score now = score(layout);
    if (now < best) {
      best = now;
      chosen = move;
    }
    layout.set(move.slot, before);
  }
  if (chosen.slot < 0) return false;
  layout.set(chosen.slot, chosen.expert);
  return true;
}

void Rounding::repair(Layout& layout, std::int64_t floor) {
  Score best = score(layout);
  while (best.objective > floor && step(layout, best)) {
    score(layout);
  }
}

void Rounding::walk(std::span<const Wish> wishes, int changes, std::int64_t floor, Rng& rng, Layout& layout) {
  const Instance& in = *instance_;
  if (in.copies() == 0) return;
  std::int64_t now = evaluator_->sketch(layout);
  for (int i = 0; i < changes && now > floor; ++i) {
    int slot = -1, expert = kNoExpert;
    if (!wishes.empty() && rng.below(2) == 0) {
      const Wish& wish = wishes[rng.below(wishes.size())];
      const auto there = in.open_on(wish.worker).size();
      slot = in.first_open(wish.worker) + static_cast<int>(rng.below(there));
      expert = wish.expert;
    } else {
      slot = static_cast<int>(rng.below(in.open().size()));
      if (!layout.is_copy(slot) || rng.below(4) > 0) expert = in.active()[rng.below(in.active().size())];
    }
    if (expert != kNoExpert && !layout.can_set(slot, expert)) continue;
    const int before = layout.is_copy(slot) ? layout.held(slot) : kNoExpert;
    layout.set(slot, expert);
    const std::int64_t next = evaluator_->sketch(layout);
    if (next > now) layout.set(slot, before);
    else now = next;
  }
}

void Rounding::thin(Layout& layout, std::int64_t objective) {
  for (int slot = 0; slot < static_cast<int>(layout.held().size()); ++slot) {
    if (!layout.is_copy(slot)) continue;
    const int expert = layout.held(slot);
    layout.set(slot, kNoExpert);
    if (evaluator_->split(layout) > objective) layout.set(slot, expert);
  }
}

}  // namespace afore::placement::director
