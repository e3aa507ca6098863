#include "core/placement.h"

#include <algorithm>
#include <atomic>

#include "util/error.h"

namespace afore {

// One counter for all placements of the process, so that equal stamps mean one and the same content.
void LayerPlacement::changed() {
  static std::atomic<std::uint64_t> next{1};
  stamp_ = next.fetch_add(1, std::memory_order_relaxed);
}

LayerPlacement::LayerPlacement(int experts, int workers, int slots_per_worker)
    : experts_(experts),
      workers_(workers),
      slots_per_worker_(slots_per_worker),
      slots_(static_cast<std::size_t>(workers) * (slots_per_worker + 1), kNoExpert),
      holders_(experts),
      fixed_primary_(experts, -1) {
  changed();
}

LayerPlacement LayerPlacement::initial(int experts, int workers, int redundant_slots) {
  LayerPlacement placement(experts, workers, (experts + workers - 1) / workers + redundant_slots);
  int slot = 0;
  for (int expert = 0; expert < experts; ++expert) {
    const int worker = initial_primary(expert, experts, workers);
    const bool first_on_worker = expert == 0 || initial_primary(expert - 1, experts, workers) != worker;
    slot = first_on_worker ? 0 : slot + 1;
    placement.set(worker, slot, expert);
    placement.fixed_primary_[expert] = worker;
  }
  return placement;
}

LayerPlacement LayerPlacement::from_physical(int experts, int workers, int slots_per_worker,
                                             std::span<const int> physical_to_logical) {
  AFORE_CHECK(physical_to_logical.size() == static_cast<std::size_t>(workers) * slots_per_worker,
              "map has the wrong size");
  LayerPlacement placement(experts, workers, slots_per_worker);
  for (int worker = 0; worker < workers; ++worker)
    for (int slot = 0; slot < slots_per_worker; ++slot)
      placement.set(worker, slot, physical_to_logical[static_cast<std::size_t>(worker) * slots_per_worker + slot]);
  for (int expert = 0; expert < experts; ++expert) {
    const int home = initial_primary(expert, experts, workers);
    if (placement.holders(expert).empty()) continue;
    placement.fixed_primary_[expert] = placement.holds(expert, home) ? home : placement.holders(expert).front();
  }
  return placement;
}

int LayerPlacement::slot_of(int expert, int worker) const {
  const int* const slots = slots_.data() + index(worker, 0);
  const int* const staging = slots + slots_per_worker_;
  for (const int* at = slots; at != staging; ++at)
    if (*at == expert) return static_cast<int>(at - slots);
  return *staging == expert ? kStagingSlot : kNoSlot;
}

int LayerPlacement::primary(int expert) const {
  if (!rehomed_) return fixed_primary_[expert];
  return holders_[expert].empty() ? -1 : holders_[expert].front();
}

void LayerPlacement::fix_primary(int expert, int worker) {
  AFORE_CHECK(holds(expert, worker), "a primary is fixed on a worker that does not hold the expert");
  fixed_primary_[expert] = worker;
  changed();
}

void LayerPlacement::mark_rehomed() {
  rehomed_ = true;
  changed();
}

bool LayerPlacement::is_primary_slot(int worker, int slot) const {
  const int expert = expert_at(worker, slot);
  return expert != kNoExpert && primary(expert) == worker && slot_of(expert, worker) == slot;
}

void LayerPlacement::set(int worker, int slot, int expert) {
  int& held = slots_[index(worker, slot)];
  const int old = held;
  if (old == expert) return;
  held = expert;
  changed();
  if (old != kNoExpert && !holds(old, worker)) {
    auto& list = holders_[old];
    list.erase(std::lower_bound(list.begin(), list.end(), worker));
  }
  if (expert != kNoExpert) {
    auto& list = holders_[expert];
    const auto at = std::lower_bound(list.begin(), list.end(), worker);
    if (at == list.end() || *at != worker) list.insert(at, worker);
  }
}

std::vector<int> LayerPlacement::physical_to_logical() const {
  std::vector<int> map;
  map.reserve(static_cast<std::size_t>(workers_) * slots_per_worker_);
  for (int worker = 0; worker < workers_; ++worker)
    for (int slot = 0; slot < slots_per_worker_; ++slot) map.push_back(expert_at(worker, slot));
  return map;
}

int stand_in(const LayerPlacement& placement, int expert, std::span<const WorkerTraits> traits) {
  const int home = placement.primary(expert);
  if (home < 0 || !drains(traits, home)) return home;
  for (const int worker : placement.holders(expert))
    if (!drains(traits, worker)) return worker;
  return home;
}

}  // namespace afore
