#include "placement/tiles/standing.h"

#include <algorithm>

namespace afore::placement::tiles {

void Standing::reset(const LayerPlacement& placement, std::span<const WorkerTraits> traits) {
  const int workers = placement.workers();
  bool same = placement.stamp() == stamp_ && static_cast<int>(draining_.size()) == workers;
  if (same && traits.empty()) {
    same = std::find(draining_.begin(), draining_.end(), 1) == draining_.end();
  } else {
    for (int w = 0; same && w < workers; ++w) same = (draining_[w] != 0) == drains(traits, w);
  }
  if (same) return;
  stamp_ = placement.stamp();
  draining_.resize(workers);
  for (int w = 0; w < workers; ++w) draining_[w] = drains(traits, w);
  ++version;
  table.reset(placement, traits);

  runs.clear();
  stretches.clear();
  for (int expert = 0; expert < table.experts(); ++expert) {
    if (table.count(expert) == 0) continue;
    const int worker = table.worker(table.first(expert));
    if (!runs.empty() && runs.back().end == expert && runs.back().worker == worker) ++runs.back().end;
    else runs.push_back({expert, expert + 1, worker});
    const bool joins = !stretches.empty() && stretches.back().end == expert && stretches.back().worker == worker &&
                       table.count(expert) == 1 && table.count(expert - 1) == 1;
    if (joins) ++stretches.back().end;
    else stretches.push_back({expert, expert + 1, worker});
  }

  movable_first.assign(1, 0);
  movable_ids.clear();
  for (int worker = 0; worker < workers; ++worker) {
    for (const int id : table.of_worker(worker))
      if (table.count(table.expert(id)) > 1) movable_ids.push_back(id);
    movable_first.push_back(static_cast<int>(movable_ids.size()));
  }
  list_slots(placement);
}

void Standing::list_slots(const LayerPlacement& placement) {
  slots.clear();
  slot_first.assign(1, 0);
  seen_.assign(placement.experts(), kNone);
  replica_.assign(placement.experts(), kNone);
  for (int worker = 0; worker < placement.workers(); ++worker) {
    // A draining worker's replicas may have no id; nothing is copied there either.
    if (draining_[worker] == 0) {
      for (const int id : table.of_worker(worker)) replica_[table.expert(id)] = id;
      const std::size_t base = placement.index(worker, 0);
      for (int slot = 0; slot < placement.slots_per_worker(); ++slot) {
        const int expert = placement.expert_at(worker, slot);
        // Only the first slot of an expert on a worker is its replica; a second one holds nothing anybody needs.
        const bool owner = expert != kNoExpert && seen_[expert] != worker;
        if (owner) seen_[expert] = worker;
        // The primary's; where its worker drains, the first of the others carries the work and stays.
        if (owner && table.first(expert) == replica_[expert]) continue;
        slots.push_back({slot, static_cast<int>(base) + slot, owner ? replica_[expert] : kNone, expert == kNoExpert});
      }
    }
    slot_first.push_back(static_cast<int>(slots.size()));
  }
}

}  // namespace afore::placement::tiles
