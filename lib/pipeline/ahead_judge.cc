#include "pipeline/ahead_judge.h"

#include <algorithm>

namespace afore::pipeline {
namespace {

constexpr int kTried = 12, kWatched = 32;  // targets
constexpr double kWorthStarting = 0.003;   // of the FFN time, on top of what stands
constexpr double kWorthKeeping = 0.001;    // on top of what residents would save
constexpr double kMemory = 1.0 / 16;
constexpr std::int64_t kFirstRest = 64, kLongestRest = 4096;  // targets between two trials

placement::Limits without_copies(placement::Limits limits) {
  limits.copy_budget = 0;
  return limits;
}

// The last half of each worker's redundant slots, one at least; those of primaries are no one's.
std::vector<std::uint8_t> slots_for_predictions(const LayerPlacement& placement, std::int64_t redundant_slots) {
  std::vector<std::uint8_t> slots(placement.index_count(), 0);
  const int count = static_cast<int>(std::min<std::int64_t>(redundant_slots, (redundant_slots + 1) / 2));
  for (int w = 0; w < placement.workers(); ++w) {
    int given = 0;
    for (int slot = placement.slots_per_worker() - 1; slot >= 0 && given < count; --slot) {
      if (placement.is_primary_slot(w, slot)) continue;
      slots[placement.index(w, slot)] = 1;
      ++given;
    }
  }
  return slots;
}

void clear_slots(std::span<const std::uint8_t> slots, LayerPlacement& placement) {
  for (int w = 0; w < placement.workers(); ++w)
    for (int slot = 0; slot < placement.slots_per_worker(); ++slot)
      if (slots[placement.index(w, slot)] != 0) placement.set(w, slot, kNoExpert);
}

}  // namespace

AheadJudge::AheadJudge(const ClusterSpec& cluster, const LayerCost& cost, const placement::Limits& limits)
    : cluster_(cluster),
      cost_(cost),
      by_tiles_(limits.objective == Objective::tiles),
      splitter_(placement::make_paper(without_copies(limits))) {}

std::span<const std::uint8_t> AheadJudge::slots(int layer) const {
  const auto it = layers_.find(layer);
  if (it == layers_.end() || !it->second.on) return {};
  return it->second.slots;
}

double AheadJudge::value(const Demand& demand, const LayerPlacement& placement) {
  splitter_->plan({demand.target, demand.counts, placement, {}, {}, cost_, 0, {}, cluster_.workers}, decision_);
  return static_cast<double>(by_tiles_ ? decision_.max_tiles_before : decision_.ffn_ns_before);
}

void AheadJudge::observe(const Demand& demand, const LayerState& state, const LayerPlacement& standing,
                         const std::vector<std::int64_t>* predicted, Nanos window_ns, AheadPlanner& ahead) {
  Layer& layer = layers_[demand.target.layer];
  if (std::all_of(demand.counts.begin(), demand.counts.end(), [](std::int64_t count) { return count == 0; })) return;
  if (layer.on) {
    watch(demand, standing, layer);
  } else if (layer.rest > 0) {
    --layer.rest;
  } else if (predicted != nullptr && cluster_.redundant_slots > 0) {
    try_out(demand, state, standing, *predicted, window_ns, ahead, layer);
  }
}

void AheadJudge::try_out(const Demand& demand, const LayerState& state, const LayerPlacement& standing,
                         std::span<const std::int64_t> predicted, Nanos window_ns, AheadPlanner& ahead, Layer& layer) {
  layer.slots = slots_for_predictions(standing, cluster_.redundant_slots);
  LayerPlacement then = standing;
  clear_slots(layer.slots, then);
  const double now = value(demand, standing), bare = value(demand, then);
  closed_.resize(layer.slots.size());
  for (std::size_t i = 0; i < closed_.size(); ++i) closed_[i] = layer.slots[i] == 0;
  ahead.ask(demand.target, predicted, then, closed_, state.last_used, {}, window_ns, decision_);
  const std::vector<Copy> copies = decision_.copies;
  for (const Copy& copy : copies) then.set(copy.to, copy.slot, copy.expert);
  layer.gain += (now - value(demand, then)) / now;
  layer.lost += (bare - now) / now;
  if (++layer.targets < kTried) return;
  const double gain = layer.gain / kTried;
  layer.worth = layer.lost / kTried;
  layer.on = gain > kWorthStarting;
  layer.saved = gain + layer.worth;
  layer.last_rest = std::min(kLongestRest, std::max(kFirstRest, 2 * layer.last_rest));
  layer.rest = layer.on ? 0 : layer.last_rest;
  layer.gain = layer.lost = 0;
  layer.targets = 0;
}

void AheadJudge::watch(const Demand& demand, const LayerPlacement& standing, Layer& layer) {
  LayerPlacement bare = standing;
  clear_slots(layer.slots, bare);
  const double now = value(demand, standing);
  layer.saved += ((value(demand, bare) - now) / now - layer.saved) * kMemory;
  if (++layer.targets < kWatched || layer.saved > layer.worth + kWorthKeeping) return;
  layer.on = false;
  layer.targets = 0;
  layer.last_rest = std::min(kLongestRest, std::max(kFirstRest, 2 * layer.last_rest));
  layer.rest = layer.last_rest;
}

}  // namespace afore::pipeline
