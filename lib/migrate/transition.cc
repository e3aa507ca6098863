// Why this always ends. Call a slot pending while it does not hold what it wants. A pending slot that is empty, or
// whose expert has another replica, drains, becomes idle and gets its wanted expert, for good. When there is none,
// every pending slot holds the only replica of its expert; each of these experts is wanted in some pending slot, and
// there are as many of them as slots, so the pending slots form a permutation and no other expert is missing
// anywhere. Staging one expert per cycle, at the worker that wants it, lets its old slot drain; the cycle then
// unwinds slot by slot and ends with a local copy out of staging. Extra copies: one per cycle.
#include "migrate/transition.h"

#include <algorithm>
#include <utility>

#include "util/error.h"

namespace afore::migrate {

Transition::Transition(const LayerPlacement& from, std::span<const int> wanted)
    : slots_(from.slots_per_worker()), wanted_(wanted.size(), kNoExpert) {
  AFORE_CHECK(wanted.size() == static_cast<std::size_t>(from.workers()) * slots_, "wanted map has the wrong size");
  std::vector<std::uint8_t> is_wanted(from.experts(), 0);
  for (const int expert : wanted) {
    AFORE_CHECK(expert >= kNoExpert && expert < from.experts(), "wanted map names an unknown expert");
    if (expert != kNoExpert) is_wanted[expert] = 1;
  }
  for (int expert = 0; expert < from.experts(); ++expert)
    AFORE_CHECK(is_wanted[expert] || from.holders(expert).empty(), "wanted map drops an expert");
  for (int worker = 0; worker < from.workers(); ++worker) match_worker(from, wanted, worker);
}

// Experts in both maps stay where they are; the others go to empty slots first, then to slots whose expert has the
// most replicas, since those drain at once.
void Transition::match_worker(const LayerPlacement& from, std::span<const int> wanted, int worker) {
  const auto* row = wanted.data() + static_cast<std::size_t>(worker) * slots_;
  int* matched = wanted_.data() + static_cast<std::size_t>(worker) * slots_;
  std::vector<int> arrivals;
  for (int i = 0; i < slots_; ++i)
    if (row[i] != kNoExpert) arrivals.push_back(row[i]);
  std::vector<int> open;
  for (int slot = 0; slot < slots_; ++slot) {
    const auto at = std::find(arrivals.begin(), arrivals.end(), from.expert_at(worker, slot));
    if (at == arrivals.end()) {
      open.push_back(slot);
    } else {
      matched[slot] = *at;
      arrivals.erase(at);
    }
  }
  const auto replicas = [&](int slot) {
    const int held = from.expert_at(worker, slot);
    return held == kNoExpert ? from.workers() + 1 : static_cast<int>(from.holders(held).size());
  };
  std::stable_sort(open.begin(), open.end(), [&](int a, int b) { return replicas(a) > replicas(b); });
  for (std::size_t i = 0; i < arrivals.size(); ++i) matched[open[i]] = arrivals[i];
}

std::int64_t Transition::remaining(const LayerPlacement& now) const {
  std::int64_t count = 0;
  for (int worker = 0; worker < now.workers(); ++worker)
    for (int slot = 0; slot < slots_; ++slot) count += pending(now, worker, slot);
  return count;
}

// The worker that must go on serving the expert: the first one where it came to rest, else one that has it staged,
// else the lowest holder.
int Transition::keeper(const LayerPlacement& now, int expert) const {
  int staged = -1;
  for (const int holder : now.holders(expert)) {
    const int used = now.slot_of(expert, holder);
    if (used != kStagingSlot && !pending(now, holder, used)) return holder;
    if (used == kStagingSlot && staged < 0) staged = holder;
  }
  return staged >= 0 ? staged : now.holders(expert).front();
}

const std::vector<std::uint8_t>& Transition::draining(const LayerPlacement& now, std::int64_t max_slots) {
  draining_.assign(now.index_count(), 0);
  std::int64_t count = 0;
  for (int worker = 0; worker < now.workers(); ++worker) {
    for (int slot = 0; slot < slots_ && count < max_slots; ++slot) {
      const int expert = now.expert_at(worker, slot);
      if (expert == kNoExpert || !pending(now, worker, slot)) continue;
      // A second replica on one worker gets no work: slot_of() is the one used.
      if (worker == keeper(now, expert) && now.slot_of(expert, worker) == slot) continue;
      draining_[now.index(worker, slot)] = 1;
      ++count;
    }
    // What an earlier transition left in staging, while the expert has come to rest on another worker.
    const int staged = now.expert_at(worker, kStagingSlot);
    if (staged == kNoExpert) continue;
    const int keeps = keeper(now, staged);
    const int used = now.slot_of(staged, keeps);
    if (keeps != worker && used != kStagingSlot && !pending(now, keeps, used))
      draining_[now.index(worker, kStagingSlot)] = 1;
  }
  return draining_;
}

std::vector<Copy> Transition::next(const LayerPlacement& now, std::span<const std::uint8_t> busy,
                                   std::int64_t max_copies) {
  AFORE_CHECK(busy.size() == now.index_count(), "busy has the wrong size");
  std::vector<Copy> copies;
  if (max_copies <= 0 || done(now)) return copies;
  overwritten_.assign(now.index_count(), 0);
  read_.assign(now.index_count(), 0);
  survivors_.assign(now.experts(), 0);
  sends_.assign(now.workers(), 0);
  for (int worker = 0; worker < now.workers(); ++worker)
    for (int slot = kStagingSlot; slot < slots_; ++slot)
      if (const int expert = now.expert_at(worker, slot); expert != kNoExpert) ++survivors_[expert];

  move_into_free_slots(now, busy, max_copies, copies);
  if (!copies.empty()) return copies;
  const auto& drains = draining(now);
  for (int worker = 0; worker < now.workers(); ++worker)
    for (int slot = 0; slot < slots_; ++slot)
      if (drains[now.index(worker, slot)]) return copies;  // will move once it is idle
  stage_cycles(now, busy, max_copies, copies);
  return copies;
}

// A worker that holds `expert` in a slot this list does not overwrite: `to` itself, else the one that sends least.
int Transition::pick_source(const LayerPlacement& now, int expert, int to) const {
  int best = -1;
  for (const int holder : now.holders(expert)) {
    bool stands = false;
    for (int slot = kStagingSlot; slot < slots_; ++slot)
      stands |= now.expert_at(holder, slot) == expert && !overwritten_[now.index(holder, slot)];
    if (!stands) continue;
    if (holder == to) return to;
    if (best < 0 || sends_[holder] < sends_[best]) best = holder;
  }
  return best;
}

// Slot by slot over the workers, so that a small budget is spread over their ports.
void Transition::move_into_free_slots(const LayerPlacement& now, std::span<const std::uint8_t> busy,
                                      std::int64_t max_copies, std::vector<Copy>& copies) {
  for (int slot = 0; slot < slots_; ++slot) {
    for (int worker = 0; worker < now.workers(); ++worker) {
      if (static_cast<std::int64_t>(copies.size()) == max_copies) return;
      const std::size_t at = now.index(worker, slot);
      if (!pending(now, worker, slot) || busy[at] || read_[at]) continue;
      const int held = now.expert_at(worker, slot);
      if (held != kNoExpert && survivors_[held] < 2) continue;
      const int expert = wanted_at(worker, slot);
      const int from = pick_source(now, expert, worker);
      if (from < 0) continue;  // nobody holds the expert: the caller knows it is lost and reloading
      copies.push_back({expert, from, worker, slot});
      overwritten_[at] = 1;
      if (held != kNoExpert) --survivors_[held];
      if (from != worker) ++sends_[from];
      for (int source = kStagingSlot; source < slots_; ++source)
        if (now.expert_at(from, source) == expert) read_[now.index(from, source)] = 1;
    }
  }
}

// Only called when the pending slots form a permutation: each holds the only regular replica of its expert.
void Transition::stage_cycles(const LayerPlacement& now, std::span<const std::uint8_t> busy, std::int64_t max_copies,
                              std::vector<Copy>& copies) {
  const auto wanting_slot = [&](int expert) -> std::pair<int, int> {
    for (int worker = 0; worker < now.workers(); ++worker)
      for (int slot = 0; slot < slots_; ++slot)
        if (wanted_at(worker, slot) == expert && pending(now, worker, slot)) return {worker, slot};
    return {-1, kNoSlot};
  };
  visited_.assign(now.index_count(), 0);
  staging_used_.assign(now.workers(), 0);
  for (int start = 0; start < now.workers(); ++start) {
    for (int start_slot = 0; start_slot < slots_; ++start_slot) {
      // Walk the cycle once: an expert's slot, then the slot that wants the expert.
      bool staged = false;
      int worker = start, slot = start_slot;
      while (worker >= 0 && pending(now, worker, slot) && !visited_[now.index(worker, slot)]) {
        visited_[now.index(worker, slot)] = 1;
        const int expert = now.expert_at(worker, slot);
        const auto [to, to_slot] = expert == kNoExpert ? std::pair{-1, kNoSlot} : wanting_slot(expert);
        if (to >= 0 && !staged && !staging_used_[to] && static_cast<std::int64_t>(copies.size()) < max_copies) {
          const int held = now.expert_at(to, kStagingSlot);
          if ((held == kNoExpert || survivors_[held] > 1) && !busy[now.index(to, kStagingSlot)]) {
            copies.push_back({expert, worker, to, kStagingSlot});
            if (held != kNoExpert) --survivors_[held];
            staging_used_[to] = 1;
            staged = true;
          }
        }
        worker = to, slot = to_slot;
      }
    }
  }
}

void Transition::apply(LayerPlacement& placement, const Copy& copy) {
  placement.set(copy.to, copy.slot, copy.expert);
  if (copy.slot != kStagingSlot && placement.expert_at(copy.to, kStagingSlot) == copy.expert)
    placement.set(copy.to, kStagingSlot, kNoExpert);
}

}  // namespace afore::migrate
