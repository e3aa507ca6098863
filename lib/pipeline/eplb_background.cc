#include "pipeline/eplb_background.h"

#include <algorithm>
#include <limits>

#include "migrate/transition.h"
#include "placement/eplb.h"
#include "placement/exact/time_split.h"
#include "placement/policy.h"
#include "util/error.h"

namespace afore::pipeline {
namespace {

class EplbBackground final : public BackgroundPolicy {
 public:
  EplbBackground(const PlannerOptions& options, const ClusterSpec& cluster, const LayerCost& cost)
      : options_(options), cluster_(cluster), cost_(cost), history_(options.window_steps) {
    // What standing replicas could reach with an exact split: the "before" of the record.
    placement::Limits no_copies = options.limits;
    no_copies.copy_budget = 0;
    before_ = placement::make_paper(no_copies);
    copy_bytes_ = std::max<std::int64_t>(1, cost.expert_bytes);
    step_bytes_ = options.eplb.step_bytes == kAbsent ? 4 * copy_bytes_ : options.eplb.step_bytes;
    step_bytes_ = std::min(step_bytes_, std::numeric_limits<std::int64_t>::max() / 2);  // sums do not overflow
  }

  void plan(const Demand& demand, LayerState& layer, Plan& plan, std::optional<PlacementRecord>& completed) override;
  void freeze() override {
    frozen_ = true;
    layers_.clear();
    wanted_.clear();
    moving_layer_ = -1;
  }
  void wind_up() override {
    frozen_ = true;
    wanted_.clear();
  }

 private:
  struct Migration {
    std::unique_ptr<migrate::Transition> transition;
    std::vector<std::int64_t> usable_from;  // by slot index: first step that may use the replica
  };

  void start_step(const Demand& demand, const LayerState& layer);
  // The workers of an expert's replicas that take work, into usable_: one entry each, as slots go.
  void find_usable(const Demand& demand, const LayerPlacement& placement, const Migration& migration,
                   std::span<const std::uint8_t> draining, int expert);
  void split_evenly(const Demand& demand, const LayerState& layer, const Migration& migration,
                    std::span<const std::uint8_t> draining, Plan& plan);
  void split_exactly(const Demand& demand, const LayerState& layer, const Migration& migration,
                     std::span<const std::uint8_t> draining, Plan& plan);

  PlannerOptions options_;
  ClusterSpec cluster_;
  LayerCost cost_;
  demand::Window history_;
  std::unique_ptr<placement::Policy> before_;
  std::map<int, Migration> layers_;
  std::int64_t step_ = std::numeric_limits<std::int64_t>::min();
  std::int64_t steps_seen_ = 0, last_rebalance_ = 0;
  std::int64_t copy_bytes_ = 1, step_bytes_ = 0, bytes_left_ = 0;
  std::map<int, std::vector<int>> wanted_;  // maps not yet started, by layer
  int moving_layer_ = -1;
  // Nothing new is begun. After a loss because the published algorithm packs equal numbers of slots on all workers: it
  // has no answer for a cluster with a hole.
  bool frozen_ = false;
  std::vector<int> usable_;
  placement::ExactSplitter splitter_;
  placement::ReplicaTable table_;
  std::vector<std::int64_t> tiles_, parts_;
};

// At a new step: refill the copy budget, and at the end of an interval ask EPLB for the wanted maps.
void EplbBackground::start_step(const Demand& demand, const LayerState& layer) {
  if (demand.target.step == step_) return;
  step_ = demand.target.step;
  // Budgets below one expert per step accumulate until a copy fits.
  bytes_left_ = std::min(bytes_left_ + step_bytes_, std::max(step_bytes_, copy_bytes_));
  if (frozen_ || ++steps_seen_ - last_rebalance_ <= options_.eplb.interval_steps) return;
  last_rebalance_ = steps_seen_ - 1;
  placement::EplbOptions eplb;
  eplb.workers = static_cast<int>(cluster_.ffn_workers);
  eplb.replicas = eplb.workers * layer.placement.slots_per_worker();
  eplb.groups = options_.eplb.groups;
  eplb.nodes = options_.eplb.nodes;
  eplb.allow_duplicates = options_.eplb.allow_duplicates;
  std::vector<std::int64_t> counts;
  std::vector<double> weight;
  for (const auto& [index, migration] : layers_) {
    history_.sum(index, layer.placement.experts(), counts);
    weight.assign(counts.begin(), counts.end());
    wanted_[index] = placement::eplb_physical_to_logical(weight, eplb);
  }
}

void EplbBackground::plan(const Demand& demand, LayerState& layer, Plan& plan,
                          std::optional<PlacementRecord>& completed) {
  start_step(demand, layer);
  const int index = demand.target.layer;
  Migration& migration = layers_[index];
  migration.usable_from.resize(layer.placement.index_count(), std::numeric_limits<std::int64_t>::min());

  // One layer moves at a time: the next that waits starts when none is moving.
  if (moving_layer_ == -1 && wanted_.contains(index)) {
    migration.transition = std::make_unique<migrate::Transition>(layer.placement, wanted_[index]);
    wanted_.erase(index);
    moving_layer_ = index;
  }
  static const std::vector<std::uint8_t> kNothingDrains;
  std::span<const std::uint8_t> draining = kNothingDrains;
  if (migration.transition) draining = migration.transition->draining(layer.placement);

  placement::Request request{demand.target,   demand.counts, layer.placement, layer.busy(),
                             layer.last_used, cost_,         plan.window_ns,  {},
                             cluster_.workers};
  const placement::Decision before = before_->decide(request);
  plan.max_tile_load_before = before.max_tiles_before;
  plan.ffn_ns_before = before.ffn_ns_before;

  if (options_.limits.split == placement::Split::exact) split_exactly(demand, layer, migration, draining, plan);
  else split_evenly(demand, layer, migration, draining, plan);
  plan.rehomes = true;
  if (migration.transition) {
    // Slots this target works in are as busy as those of the targets before it.
    std::vector<std::uint8_t> busy(layer.busy().begin(), layer.busy().end());
    for (const TileShare& share : plan.assignment)
      busy[layer.placement.index(share.worker, layer.placement.slot_of(share.expert, share.worker))] = 1;
    plan.copies = migration.transition->next(layer.placement, busy, bytes_left_ / copy_bytes_);
    bytes_left_ -= static_cast<std::int64_t>(plan.copies.size()) * copy_bytes_;
    for (const Copy& copy : plan.copies) {
      migrate::Transition::apply(layer.placement, copy);
      migration.usable_from[layer.placement.index(copy.to, copy.slot)] = demand.target.step + 1;
    }
    if (!plan.copies.empty()) layer.placement.mark_rehomed();
    if (migration.transition->done(layer.placement)) {
      completed = PlacementRecord{index, layer.placement.slots_per_worker(), layer.placement.physical_to_logical()};
      migration.transition.reset();
      moving_layer_ = -1;
    }
  }
  // A policy that may re-home everything is bounded only by the volume.
  const std::int64_t workers = cluster_.ffn_workers;
  std::int64_t tiles = 0, active = 0;
  for (const std::int64_t count : demand.counts) {
    tiles += ceil_div(count, cluster_.tile_tokens);
    active += count > 0 ? 1 : 0;
  }
  plan.lower_bound = ceil_div(tiles, workers);
  plan.ffn_bound_ns = volume_bound_ns(tiles, active, static_cast<int>(workers), cost_, cluster_.workers);
  history_.observe(demand);
}

void EplbBackground::find_usable(const Demand& demand, const LayerPlacement& placement, const Migration& migration,
                                 std::span<const std::uint8_t> draining, int expert) {
  const auto collect = [&](bool skip_draining, bool skip_new) {
    usable_.clear();
    for (const int worker : placement.holders(expert))
      for (int slot = kStagingSlot; slot < placement.slots_per_worker(); ++slot) {
        if (placement.expert_at(worker, slot) != expert) continue;
        const std::size_t at = placement.index(worker, slot);
        if (skip_draining && !draining.empty() && draining[at]) continue;
        if (skip_new && migration.usable_from[at] > demand.target.step) continue;
        usable_.push_back(worker);
      }
    return !usable_.empty();
  };
  const bool found = collect(true, true) || collect(false, true) || collect(false, false);
  AFORE_CHECK(found, "an expert has no replica");
}

// --split exact: the same replicas, whole tiles, by the search that afore uses.
void EplbBackground::split_exactly(const Demand& demand, const LayerState& layer, const Migration& migration,
                                   std::span<const std::uint8_t> draining, Plan& plan) {
  const int experts = layer.placement.experts();
  std::vector<int> homes(experts, -1);
  std::vector<placement::ReplicaTable::Extra> extras;
  for (int expert = 0; expert < experts; ++expert) {
    if (demand.counts[expert] == 0) continue;
    find_usable(demand, layer.placement, migration, draining, expert);
    homes[expert] = usable_.front();
    for (const int worker : usable_) {
      const bool again = worker == homes[expert] ||
                         (!extras.empty() && extras.back().expert == expert && extras.back().worker == worker);
      if (!again) extras.push_back({expert, worker});
    }
  }
  table_.assign(homes, static_cast<int>(cluster_.ffn_workers), extras);
  count_tiles(demand.counts, cluster_.tile_tokens, tiles_);
  if (options_.limits.objective == Objective::tiles) splitter_.plan({table_, tiles_}, parts_);
  else splitter_.plan({table_, tiles_, cost_.rule, cost_.c1_ns, cost_.c2_ns}, parts_);
  for (int id = 0; id < table_.replicas(); ++id)
    if (parts_[id] > 0) plan.assignment.push_back({table_.expert(id), table_.worker(id), parts_[id]});
}

// d tokens over r replicas: d/r each, the first d%r replicas one more; replicas of one worker are one share.
void EplbBackground::split_evenly(const Demand& demand, const LayerState& layer, const Migration& migration,
                                  std::span<const std::uint8_t> draining, Plan& plan) {
  const LayerPlacement& placement = layer.placement;
  const std::vector<int>& replicas = usable_;
  for (int expert = 0; expert < placement.experts(); ++expert) {
    const std::int64_t tokens = demand.counts[expert];
    if (tokens == 0) continue;
    find_usable(demand, placement, migration, draining, expert);
    const std::int64_t r = static_cast<std::int64_t>(replicas.size());
    for (std::int64_t i = 0; i < r; ++i) {
      const std::int64_t share = tokens / r + (i < tokens % r ? 1 : 0);
      if (share == 0) continue;
      if (i > 0 && !plan.assignment_tokens.empty() && plan.assignment_tokens.back().expert == expert &&
          plan.assignment_tokens.back().worker == replicas[i]) {
        plan.assignment_tokens.back().tokens += share;
      } else {
        plan.assignment_tokens.push_back({expert, replicas[i], share});
      }
    }
  }
  for (const TokenShare& share : plan.assignment_tokens)
    plan.assignment.push_back({share.expert, share.worker, ceil_div(share.tokens, cluster_.tile_tokens)});
}

}  // namespace

std::unique_ptr<BackgroundPolicy> make_eplb_background(const PlannerOptions& options, const ClusterSpec& cluster,
                                                       const LayerCost& cost) {
  return std::make_unique<EplbBackground>(options, cluster, cost);
}

}  // namespace afore::pipeline
