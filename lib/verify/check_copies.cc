// Where copies may come from and what they may replace. Copies take effect in list order.
#include <algorithm>
#include <set>

#include "verify/state.h"

namespace afore::verify {
namespace {

void check_names(const Facts& facts, const Plan& plan, const Copy& copy, std::size_t number) {
  const auto inside = [](int value, int end) { return value >= 0 && value < end; };
  if (!inside(copy.expert, facts.experts))
    violate(plan.target, "copy {} names expert {} of {}", number, copy.expert, facts.experts);
  if (!inside(copy.from, facts.workers) || !inside(copy.to, facts.workers))
    violate(plan.target, "copy {} goes from worker {} to {}, of {}", number, copy.from, copy.to, facts.workers);
  if (copy.slot == kStaging && !plan.rehomes)
    violate(plan.target, "copy {} uses the staging buffer of worker {}, but the plan does not re-home", number,
            copy.to);
  if (copy.slot != kStaging && !inside(copy.slot, facts.slots))
    violate(plan.target, "copy {} names slot {} of {}", number, copy.slot, facts.slots);
}

// Slots that no copy may take because of draining workers: all of theirs, and those of experts that other workers hold
// in their place.
std::vector<std::uint8_t> kept_slots(const Facts& facts, const LayerMap& layer) {
  std::vector<std::uint8_t> kept(layer.held.size(), 0);
  if (std::find(facts.drains.begin(), facts.drains.end(), 1) == facts.drains.end()) return kept;
  for (int w = 0; w < facts.workers; ++w)
    for (int s = kStaging; s < facts.slots; ++s) kept[layer.at(w, s)] = facts.drains[w];
  const std::vector<std::vector<int>> holders = layer.holders();
  for (int e = 0; e < facts.experts; ++e) {
    const int worker = stand_in(facts, holders[e], layer.primary(e));
    kept[layer.at(worker, layer.used_slot(e, worker))] = 1;
  }
  return kept;
}

// The balancer in the background knows neither.
void check_traits(const Facts& facts, const Plan& plan, const LayerMap& layer, const std::vector<std::uint8_t>& kept,
                  const Copy& copy, std::size_t number) {
  if (plan.rehomes) return;
  if (facts.pinned[copy.expert]) violate(plan.target, "copy {} is of expert {}, which is pinned", number, copy.expert);
  if (facts.drains[copy.to]) violate(plan.target, "copy {} goes to worker {}, which drains", number, copy.to);
  const int old = layer.held[layer.at(copy.to, copy.slot)];
  if (old != kNobody && kept[layer.at(copy.to, copy.slot)] && !layer.is_primary_slot(copy.to, copy.slot))
    violate(plan.target, "copy {} overwrites slot {} of worker {}, where expert {} stands in for a draining worker",
            number, copy.slot, copy.to, old);
}

void check_place(const Plan& plan, const LayerMap& layer, const Copy& copy, std::size_t number, bool works) {
  if (layer.used_slot(copy.expert, copy.from) == kAbsentSlot)
    violate(plan.target, "copy {} takes expert {} from worker {}, which does not hold it", number, copy.expert,
            copy.from);
  if (!plan.rehomes && layer.used_slot(copy.expert, copy.to) != kAbsentSlot)
    violate(plan.target, "copy {} brings expert {} to worker {}, which already holds it", number, copy.expert, copy.to);
  const std::size_t at = layer.at(copy.to, copy.slot);
  if (works)
    violate(plan.target, "copy {} overwrites slot {} of worker {}, which has work in step {} microbatch {}", number,
            copy.slot, copy.to, layer.last_target[at].step, layer.last_target[at].microbatch);
  const int old = layer.held[at];
  if (old == kNobody || old == copy.expert) return;
  if (!plan.rehomes && layer.is_primary_slot(copy.to, copy.slot))
    violate(plan.target, "copy {} overwrites slot {} of worker {}, the primary of expert {}", number, copy.slot,
            copy.to, old);
  if (layer.replicas(old) == 1)
    violate(plan.target, "copy {} overwrites slot {} of worker {}, the last replica of expert {}", number, copy.slot,
            copy.to, old);
}

}  // namespace

void apply_copies(const Facts& facts, const Plan& plan, LayerMap& layer) {
  layer.planned = true;
  if (plan.is_virtual) {
    if (!plan.copies.empty()) violate(plan.target, "a virtual plan has {} copies, expected none", plan.copies.size());
    return;
  }
  if (plan.rehomes && !plan.copies.empty()) layer.rehomed = true;
  if (!plan.rehomes && static_cast<std::int64_t>(plan.copies.size()) > facts.planner.copy_budget)
    violate(plan.target, "plan has {} copies, the budget is {}", plan.copies.size(), facts.planner.copy_budget);
  std::set<std::size_t> written;
  const std::vector<std::uint8_t> kept = kept_slots(facts, layer);
  for (std::size_t i = 0; i < plan.copies.size(); ++i) {
    const Copy& copy = plan.copies[i];
    check_names(facts, plan, copy, i + 1);
    if (!written.insert(layer.at(copy.to, copy.slot)).second)
      violate(plan.target, "copy {} writes slot {} of worker {} a second time", i + 1, copy.slot, copy.to);
    check_traits(facts, plan, layer, kept, copy, i + 1);
    check_place(plan, layer, copy, i + 1, layer.busy(copy.to, copy.slot, facts.microbatches));
    layer.held[layer.at(copy.to, copy.slot)] = copy.expert;
    // Staging holds an expert only until its worker has it in a regular slot.
    int& staged = layer.held[layer.at(copy.to, kStaging)];
    if (copy.slot != kStaging && staged == copy.expert) staged = kNobody;
  }
}

// Of the targets planned before, one per microbatch may be under way: those of the last plans, whatever their layer.
void apply_ahead(const Facts& facts, const Plan& plan, const AheadCopy& ahead, LayerMap& layer) {
  const Copy& copy = ahead.copy;
  const std::size_t number = plan.copies.size() + static_cast<std::size_t>(&ahead - plan.ahead.data()) + 1;
  if (ahead.layer == plan.target.layer)
    violate(plan.target, "copy {} is ahead, and for the target's own layer", number);
  if (plan.is_virtual) violate(plan.target, "a virtual plan has copies ahead, expected none");
  if (static_cast<std::int64_t>(number) > facts.planner.copy_budget)
    violate(plan.target, "plan has {} copies, the budget is {}", number, facts.planner.copy_budget);
  if (layer.targets == 0) violate(plan.target, "copy {} is for layer {}, which had no target yet", number, ahead.layer);
  check_names(facts, plan, copy, number);
  check_traits(facts, plan, layer, kept_slots(facts, layer), copy, number);
  const std::int64_t last = layer.last_seq[layer.at(copy.to, copy.slot)];
  check_place(plan, layer, copy, number, last >= 0 && plan.seq - last < facts.microbatches);
  layer.held[layer.at(copy.to, copy.slot)] = copy.expert;
}

void record_work(const Plan& plan, LayerMap& layer) {
  if (!plan.is_virtual) {
    for (const TileShare& share : plan.assignment) {
      const std::size_t at = layer.at(share.worker, layer.used_slot(share.expert, share.worker));
      layer.last_work[at] = layer.targets;
      layer.last_seq[at] = plan.seq;
      layer.last_target[at] = plan.target;
    }
  }
  ++layer.targets;
}

}  // namespace afore::verify
