#include "pipeline/membership.h"

#include <string>

#include "util/error.h"

namespace afore::pipeline {
namespace {

class LayerRepair {
 public:
  LayerRepair(int layer, const LayerPlacement& before, const std::vector<int>& complete, const std::vector<bool>& alive)
      : layer_(layer),
        alive_(alive),
        result_{LayerPlacement(before.experts(), before.workers(), before.slots_per_worker()), {}},
        replicas_(before.experts(), 0),
        primaries_(before.workers(), 0) {
    for (int w = 0; w < before.workers(); ++w) {
      if (!alive[w]) continue;
      for (int slot = kStagingSlot; slot < before.slots_per_worker(); ++slot)
        hold(w, slot, complete[before.index(w, slot)]);
    }
    for (int e = 0; e < before.experts(); ++e) keep_primary(e, before.primary(e));
    for (int e = 0; e < before.experts(); ++e)
      if (replicas_[e] == 0) reload(e);
    if (before.rehomed()) result_.placement.mark_rehomed();
  }

  LayerRecovery take() { return std::move(result_); }

 private:
  void hold(int worker, int slot, int expert) {
    const int old = result_.placement.expert_at(worker, slot);
    if (old != kNoExpert) replicas_[old] -= 1;
    if (expert != kNoExpert) replicas_[expert] += 1;
    result_.placement.set(worker, slot, expert);
  }

  void fix(int expert, int worker) {
    result_.placement.fix_primary(expert, worker);
    primaries_[worker] += 1;
  }

  void keep_primary(int expert, int worker) {
    const auto holders = result_.placement.holders(expert);
    if (holders.empty()) return;
    fix(expert, worker >= 0 && result_.placement.holds(expert, worker) ? worker : holders.front());
  }

  // A regular slot that may be overwritten, empty ones first; kNoSlot when the worker has none. Primaries stay where
  // they are: others were told to find them there.
  int free_slot(int worker) const {
    const LayerPlacement& placement = result_.placement;
    int found = kNoSlot;
    for (int slot = 0; slot < placement.slots_per_worker(); ++slot) {
      const int expert = placement.expert_at(worker, slot);
      if (expert == kNoExpert) return slot;
      const bool spare = replicas_[expert] > 1 && !placement.is_primary_slot(worker, slot);
      if (found == kNoSlot && spare) found = slot;
    }
    return found;
  }

  void reload(int expert) {
    int best = -1;
    for (int w = 0; w < result_.placement.workers(); ++w)
      if (alive_[w] && (best < 0 || primaries_[w] < primaries_[best]) && free_slot(w) != kNoSlot) best = w;
    if (best < 0)
      throw Error(ErrorKind::io,
                  "expert " + std::to_string(expert) + " of layer " + std::to_string(layer_) +
                      " is lost with its worker, and no other worker has a slot for it",
                  "more redundant slots (--slots) survive the loss of a worker");
    const int slot = free_slot(best);
    hold(best, slot, expert);
    fix(expert, best);
    result_.reloads.push_back({layer_, expert, best, slot});
  }

  int layer_;
  const std::vector<bool>& alive_;
  LayerRecovery result_;
  std::vector<int> replicas_;   // by expert, staging included
  std::vector<int> primaries_;  // by worker
};

}  // namespace

LayerRecovery recover_layer(int layer, const LayerPlacement& before, const std::vector<int>& complete,
                            const std::vector<bool>& alive) {
  AFORE_CHECK(complete.size() == before.index_count(), "an inventory has the wrong size");
  return LayerRepair(layer, before, complete, alive).take();
}

}  // namespace afore::pipeline
