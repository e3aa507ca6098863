#include "placement/fixed_replicas.h"

namespace afore::placement {
namespace {

// Before a layer's choice, as policy split: not one microbatch's accident, and few enough for a warm-up to cover.
constexpr int kTargetsBeforeChoice = 8;

}  // namespace

FixedReplicas::Layer& FixedReplicas::see(const Request& request) {
  Layer& layer = layers_[request.target.layer];
  if (layer.chosen) return layer;
  layer.load.resize(request.counts.size(), 0);
  std::int64_t tokens = 0;
  for (std::size_t e = 0; e < layer.load.size(); ++e) {
    layer.load[e] += request.counts[e];
    tokens += request.counts[e];
  }
  layer.targets += tokens > 0;
  return layer;
}

bool FixedReplicas::due(Layer& layer) {
  if (layer.chosen || layer.targets <= kTargetsBeforeChoice) return false;
  layer.chosen = true;
  return true;
}

int FixedReplicas::empty_slots(const Request& request, const LayerPlacement& placement, int worker) {
  if (drains(request.workers, worker)) return 0;
  int empty = 0;
  for (int slot = 0; slot < placement.slots_per_worker(); ++slot)
    empty += placement.expert_at(worker, slot) == kNoExpert && !request.is_busy(worker, slot);
  return empty;
}

void FixedReplicas::copy(const Layer& layer, const Request& request, Book& book) {
  for (const Replica& replica : layer.replicas)
    if (empty_slots(request, book.after(), replica.worker) > 0) book.copy(replica.expert, replica.worker);
}

}  // namespace afore::placement
