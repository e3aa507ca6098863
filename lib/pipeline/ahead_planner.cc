#include "pipeline/ahead_planner.h"

#include <algorithm>

#include "util/error.h"

namespace afore::pipeline {

using placement::Arriving;

namespace {

constexpr std::size_t kMostWaiting = std::size_t{1} << 16;  // targets with predictions

}  // namespace

AheadPlanner::AheadPlanner(const ClusterSpec& cluster, const LayerCost& cost, std::int64_t copy_budget,
                           int layers_ahead, std::unique_ptr<placement::Policy> rule)
    : cluster_(cluster),
      cost_(cost),
      copy_budget_(copy_budget),
      layers_ahead_(layers_ahead),
      rule_(std::move(rule)),
      out_free_(cluster.ffn_workers, 0),
      in_free_(cluster.ffn_workers, 0) {}

void AheadPlanner::on_prediction(const Prediction& prediction) {
  // A token takes an expert once, so there are as many tokens as the largest count.
  const std::int64_t tokens =
      prediction.counts.empty() ? 0 : *std::max_element(prediction.counts.begin(), prediction.counts.end());
  check_magnitude(prediction.target, tokens, prediction.counts, static_cast<int>(cluster_.ffn_workers), cost_,
                  cluster_.workers);
  std::vector<Guess>& guesses = predictions_[prediction.target];
  if (predictions_.size() > kMostWaiting)
    throw Error(ErrorKind::data, "over 65,536 targets have predictions and no demand",
                "a prediction stands a few layers ahead of its target's demand");
  const auto at = std::find_if(guesses.begin(), guesses.end(),
                               [&](const Guess& guess) { return guess.after_layer == prediction.after_layer; });
  if (at != guesses.end()) at->counts = prediction.counts;
  else guesses.push_back({prediction.after_layer, prediction.counts});
}

const std::vector<std::int64_t>* AheadPlanner::predicted(const Target& target, int after_layer) const {
  const auto it = predictions_.find(target);
  if (it == predictions_.end()) return nullptr;
  const Guess* best = nullptr;
  for (const Guess& guess : it->second)
    if (guess.after_layer <= after_layer && (best == nullptr || guess.after_layer > best->after_layer)) best = &guess;
  return best == nullptr ? nullptr : &best->counts;
}

Expected AheadPlanner::expected(const Target& target) const {
  const auto layer = layers_.find(target.layer);
  if (layer == layers_.end()) return {};
  for (const Reserved& reserved : layer->second.reserved)
    if (reserved.target == target) return reserved.expected;
  return {};
}

std::span<const Arriving> AheadPlanner::arriving(int layer) {
  std::vector<Arriving>& list = layers_[layer].arriving;
  std::erase_if(list, [&](const Arriving& replica) { return replica.end_ns <= clock_ns_; });
  return list;
}

void AheadPlanner::reset() {
  layers_.clear();
  std::fill(out_free_.begin(), out_free_.end(), clock_ns_);
  std::fill(in_free_.begin(), in_free_.end(), clock_ns_);
}

void AheadPlanner::ask(const Target& target, std::span<const std::int64_t> counts, const LayerPlacement& placement,
                       std::span<const std::uint8_t> closed, std::span<const std::int64_t> last_used,
                       std::span<const std::uint8_t> pinned, Nanos window_ns, placement::Decision& decision) {
  rule_->plan({target, counts, placement, closed, last_used, cost_, window_ns, pinned, cluster_.workers}, decision);
}

void AheadPlanner::plan(const Demand& demand, const LayerStates& layers, std::span<const std::uint8_t> pinned,
                        const Slots& may_fill, Plan& plan) {
  const Target& now = demand.target;
  // The plan is there before its target may start.
  const Nanos begin_ns = clock_ns_ - plan.window_ns;
  Nanos end_ns = 0;
  for (const Copy& copy : plan.copies) in_time(copy, begin_ns, INT64_MAX, end_ns);
  if (plan.window_source != "no_overlap") {
    auto layer = layers.upper_bound(now.layer);
    for (int distance = 1; distance <= layers_ahead_ && layer != layers.end(); ++distance, ++layer) {
      const Target target{now.step, layer->first, now.microbatch};
      const std::vector<std::int64_t>* counts = predicted(target, now.layer);
      if (counts == nullptr || !layer->second->announced || counts->size() != demand.counts.size()) continue;
      plan_layer(target, *counts, *layer->second, between_ns(distance, plan.ffn_ns), pinned, may_fill, plan);
    }
  }
  clock_ns_ += plan.ffn_ns;
  forget(now);
}

void AheadPlanner::plan_layer(const Target& target, std::span<const std::int64_t> counts, LayerState& state,
                              Nanos between_ns, std::span<const std::uint8_t> pinned, const Slots& may_fill,
                              Plan& plan) {
  const std::span<const std::uint8_t> slots = may_fill ? may_fill(target.layer) : std::span<const std::uint8_t>{};
  if (may_fill && slots.empty()) return;
  Layer& mine = layers_[target.layer];
  std::erase_if(mine.reserved, [&](const Reserved& reserved) {
    return reserved.target == target || reserved.target.step + 1 < target.step;
  });
  close_slots(state, mine, slots, plan.seq);
  ask(target, counts, state.placement, closed_, state.last_used, pinned, plan.window_ns + between_ns, decision_);
  ++used_;
  for (const Copy& copy : decision_.copies) {
    if (std::ssize(plan.copies) + std::ssize(plan.ahead) >= copy_budget_) break;
    Nanos end_ns = 0;
    if (!in_time(copy, clock_ns_ - plan.window_ns, clock_ns_ + between_ns, end_ns))
      break;  // later ones may count on this one
    plan.ahead.push_back({target.layer, copy});
    state.placement.set(copy.to, copy.slot, copy.expert);
    std::erase_if(mine.arriving,
                  [&](const Arriving& other) { return other.worker == copy.to && other.slot == copy.slot; });
    mine.arriving.push_back({copy.expert, copy.to, copy.slot, end_ns, target.step});
  }
  const WorkerLoads loads =
      worker_loads(decision_.assignment, static_cast<int>(cluster_.ffn_workers), cost_, cluster_.workers);
  Reserved reserved{target, {}, {loads.max_ns, decision_.relaxation_bound_ns, loads.max_tiles}};
  for (const TileShare& share : decision_.assignment) {
    const int slot = state.placement.slot_of(share.expert, share.worker);
    if (slot != kNoSlot) reserved.slots.push_back(state.placement.index(share.worker, slot));
  }
  mine.reserved.push_back(std::move(reserved));
}

// Slots with work under way: of the last targets, one per microbatch, in whatever layer. Slots that other predicted
// targets count on, and those that a replica arrives in.
void AheadPlanner::close_slots(const LayerState& state, const Layer& mine, std::span<const std::uint8_t> may_fill,
                               std::int64_t seq) {
  closed_.assign(state.closed().begin(), state.closed().end());
  for (std::size_t i = 0; i < closed_.size(); ++i)
    if ((state.last_used[i] >= 0 && seq - state.last_used[i] < cluster_.microbatches) ||
        (!may_fill.empty() && may_fill[i] == 0))
      closed_[i] = 1;
  for (const Reserved& reserved : mine.reserved)
    for (const std::size_t slot : reserved.slots) closed_[slot] = 1;
  for (const Arriving& replica : mine.arriving)
    if (replica.end_ns > clock_ns_) closed_[state.placement.index(replica.worker, replica.slot)] = 1;
}

// Takes the copy's ports from `begin_ns` on, and tells when it is done; false, and nothing is done, where that is after
// `latest_ns`.
bool AheadPlanner::in_time(const Copy& copy, Nanos begin_ns, Nanos latest_ns, Nanos& end_ns) {
  end_ns = std::max({begin_ns, out_free_[copy.from], in_free_[copy.to]}) +
           copy_ns(cost_, cluster_.workers, copy.from, copy.to);
  if (end_ns > latest_ns) return false;
  out_free_[copy.from] = in_free_[copy.to] = end_ns;
  return true;
}

void AheadPlanner::forget(const Target& planned) {
  predictions_.erase(planned);
  // A target that never came: its step is over.
  while (!predictions_.empty() && predictions_.begin()->first.step + 1 < planned.step)
    predictions_.erase(predictions_.begin());
  std::erase_if(layers_[planned.layer].reserved, [&](const Reserved& reserved) {
    return reserved.target == planned || reserved.target.step < planned.step;
  });
}

}  // namespace afore::pipeline
