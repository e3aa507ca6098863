#include "placement/slots.h"

#include <algorithm>

namespace afore::placement {

void SlotTable::reset(const Request& request, const Board& board) {
  const LayerPlacement& placement = request.placement;
  const auto last_used = request.last_used;
  slots_.clear();
  first_.assign(1, 0);
  seen_.assign(placement.experts(), -1);
  replica_.assign(placement.experts(), kNone);
  for (int worker = 0; worker < placement.workers(); ++worker) {
    for (const int id : board.of_worker(worker)) replica_[board.replica(id).expert] = id;
    const bool draining = drains(request.workers, worker);
    for (int slot = 0; slot < placement.slots_per_worker() && !draining; ++slot) {
      const int expert = placement.expert_at(worker, slot);
      // Only the first slot of an expert on a worker is its replica; a second one holds nothing anybody needs.
      const bool owner = expert != kNoExpert && seen_[expert] != worker;
      if (owner) seen_[expert] = worker;
      if (owner && stand_in(placement, expert, request.workers) == worker) continue;
      const std::size_t index = placement.index(worker, slot);
      if (request.is_busy(worker, slot)) continue;
      Entry entry;
      entry.slot = slot;
      entry.empty = expert == kNoExpert;
      entry.last_used = last_used.empty() ? -1 : last_used[index];
      // Experts without demand have no replica on the board: evicting theirs touches nothing there.
      if (owner && board.demand(expert) > 0) entry.replica = replica_[expert];
      slots_.push_back(entry);
    }
    first_.push_back(static_cast<int>(slots_.size()));
  }
}

CopyRoom& SlotTable::room(std::int64_t copy_budget) {
  room_.per_worker.resize(first_.size() - 1);
  for (std::size_t worker = 0; worker + 1 < first_.size(); ++worker)
    room_.per_worker[worker] = first_[worker + 1] - first_[worker];
  room_.total = static_cast<std::int64_t>(slots_.size());
  room_.copies = std::min(copy_budget, room_.total);
  return room_;
}

int SlotTable::pick(const Board& board, int worker) const {
  int best = kNone;
  for (int i = first_[worker]; i < first_[worker + 1]; ++i) {
    const Entry& entry = slots_[i];
    if (entry.taken) continue;
    if (entry.empty) return i;
    if (entry.replica != kNone && board.replica(entry.replica).tiles > 0) continue;
    if (best == kNone || entry.last_used < slots_[best].last_used) best = i;
  }
  return best;
}

}  // namespace afore::placement
