#include "pipeline/plan_source.h"

#include <fmt/format.h>

#include "migrate/transition.h"
#include "pipeline/placement_record.h"
#include "util/error.h"

namespace afore::pipeline {
namespace {

class LivePlans final : public PlanSource {
 public:
  LivePlans(const ModelSpec& model, const ClusterSpec& cluster, const LayerCost& cost, const PlannerOptions& options,
            std::function<void(const PlannedTarget&)> emit)
      : planner_(model, cluster, cost, options), cluster_(cluster), emit_(std::move(emit)) {}

  const LayerPlacement& placement(int layer) override { return planner_.placement(layer); }

  PlanPtr next(const Demand& demand, std::int64_t serial) override {
    PlannedTarget planned = planner_.plan(demand);
    emit_(planned);
    return make_published(std::move(planned.plan), demand, serial, cluster_.tile_tokens,
                          static_cast<int>(cluster_.ffn_workers), planner_.placement(demand.target.layer));
  }

  void on_prediction(const Prediction& prediction) override { planner_.on_prediction(prediction); }
  void on_placement(const PlacementRecord& record) override { planner_.set_placement(record); }
  Recovery lose_workers(const std::vector<bool>& alive, const std::map<int, std::vector<int>>& complete) override {
    return planner_.lose_workers(alive, complete);
  }
  void change(const PlannerOptions& options) override { planner_.change(options); }

 private:
  Planner planner_;
  ClusterSpec cluster_;
  std::function<void(const PlannedTarget&)> emit_;
};

[[noreturn]] void refuse(const Plan& plan, const std::string& fact) {
  throw Error(ErrorKind::data,
              fmt::format("the plan for step {} layer {} microbatch {} cannot be executed: {}", plan.target.step,
                          plan.target.layer, plan.target.microbatch, fact),
              "run afore-plan verify on the stream");
}

// Whether the copy's worker holds its expert already, of any copy.
bool stands(const Copy& copy, const LayerPlacement& map) {
  return copy.expert >= 0 && copy.expert < map.experts() && copy.to >= 0 && copy.to < map.workers() &&
         map.holds(copy.expert, copy.to);
}

void apply_checked(const Plan& plan, const Copy& copy, LayerPlacement& map) {
  const int workers = map.workers();
  if (copy.from < 0 || copy.from >= workers || copy.to < 0 || copy.to >= workers)
    refuse(plan, "a copy names an unknown worker");
  if (copy.slot < kStagingSlot || copy.slot >= map.slots_per_worker()) refuse(plan, "a copy names an unknown slot");
  if (copy.expert < 0 || copy.expert >= map.experts() || !map.holds(copy.expert, copy.from))
    refuse(plan, fmt::format("expert {} is not on worker {} when it is copied from there", copy.expert, copy.from));
  const int lost = map.expert_at(copy.to, copy.slot);
  migrate::Transition::apply(map, copy);
  if (lost != kNoExpert && map.holders(lost).empty())
    refuse(plan, fmt::format("expert {} would lose its last replica", lost));
}

}  // namespace

void PlanSource::change(const PlannerOptions&) {
  throw Error(ErrorKind::usage, "the plans are fixed, so their policy cannot change");
}

std::unique_ptr<PlanSource> live_plans(const ModelSpec& model, const ClusterSpec& cluster, const LayerCost& cost,
                                       const PlannerOptions& options, std::function<void(const PlannedTarget&)> emit) {
  return std::make_unique<LivePlans>(model, cluster, cost, options, std::move(emit));
}

EmbeddedPlans::EmbeddedPlans(const ModelSpec& model, const ClusterSpec& cluster, const LayerCost& cost)
    : model_(model), cluster_(cluster), cost_(cost) {}

LayerPlacement& EmbeddedPlans::state(int layer) {
  const auto it = layers_.find(layer);
  if (it != layers_.end()) return it->second;
  return layers_
      .emplace(layer, LayerPlacement::initial(static_cast<int>(model_.experts), static_cast<int>(cluster_.ffn_workers),
                                              static_cast<int>(cluster_.redundant_slots)))
      .first->second;
}

void EmbeddedPlans::on_placement(const PlacementRecord& record) {
  if (layers_.contains(record.layer)) return;
  layers_.emplace(record.layer,
                  placement_from(record, static_cast<int>(model_.experts), static_cast<int>(cluster_.ffn_workers)));
}

Recovery EmbeddedPlans::lose_workers(const std::vector<bool>&, const std::map<int, std::vector<int>>&) {
  throw Error(ErrorKind::usage, "the stream's plans are fixed, so they cannot go on without a worker",
              "plan while running: --ignore-plans --policy POLICY");
}

void EmbeddedPlans::push(const Demand& demand, const Plan* plan) {
  if (plan != nullptr) {
    if (plan->target != demand.target) refuse(*plan, "it follows the demand of another target");
    if (plan->seq <= last_seq_) refuse(*plan, fmt::format("seq {} after {}", plan->seq, last_seq_));
    last_seq_ = plan->seq;
  }
  plans_.push_back(plan == nullptr ? nullptr : std::make_unique<Plan>(*plan));
}

// What would corrupt the placement or lose tokens; the numbers a plan claims are afore-plan verify's business.
void EmbeddedPlans::validate(const Demand& demand, const Plan& plan) {
  const int workers = static_cast<int>(cluster_.ffn_workers);
  LayerPlacement after = state(demand.target.layer);
  if (!plan.is_virtual) {
    for (const Copy& copy : plan.copies) apply_checked(plan, copy, after);
    if (plan.rehomes && !plan.copies.empty()) after.mark_rehomed();
  }
  std::vector<std::int64_t> tiles(demand.counts.size(), 0);
  for (const TileShare& share : plan.assignment) {
    if (share.worker < 0 || share.worker >= workers || share.expert < 0 || share.expert >= after.experts())
      refuse(plan, "its assignment names an unknown worker or expert");
    if (!plan.is_virtual && !after.holds(share.expert, share.worker))
      refuse(plan, fmt::format("worker {} does not hold expert {}", share.worker, share.expert));
    tiles[share.expert] += share.tiles;
  }
  if (!plan.assignment_tokens.empty()) {
    if (plan.assignment_tokens.size() != plan.assignment.size())
      refuse(plan, "assignment_tokens and assignment differ in length");
    std::vector<std::int64_t> tokens(demand.counts.size(), 0);
    for (std::size_t i = 0; i < plan.assignment.size(); ++i) {
      const TokenShare& share = plan.assignment_tokens[i];
      if (share.expert != plan.assignment[i].expert || share.worker != plan.assignment[i].worker)
        refuse(plan, "assignment_tokens and assignment name different workers or experts");
      tokens[share.expert] += share.tokens;
    }
    if (tokens != demand.counts) refuse(plan, "its tokens do not add up to the demand");
    return;
  }
  for (std::size_t e = 0; e < tiles.size(); ++e)
    if (tiles[e] != ceil_div(demand.counts[e], cluster_.tile_tokens))
      refuse(plan, fmt::format("expert {} gets {} tiles, its demand needs {}", e, tiles[e],
                               ceil_div(demand.counts[e], cluster_.tile_tokens)));
}

// Copies for other layers, whose maps the workers must have.
void EmbeddedPlans::validate_ahead(const Plan& plan) {
  std::map<int, LayerPlacement> after;
  for (const AheadCopy& ahead : plan.ahead) {
    if (ahead.layer == plan.target.layer) refuse(plan, "a copy ahead is for the plan's own layer");
    if (!planned_layers_.contains(ahead.layer))
      refuse(plan, fmt::format("a copy ahead is for layer {}, which had no target yet", ahead.layer));
    if (ahead.copy.slot == kStagingSlot) refuse(plan, "a copy ahead goes to a staging buffer");
    LayerPlacement& map = after.try_emplace(ahead.layer, state(ahead.layer)).first->second;
    const bool stood = stands(ahead.copy, map);
    apply_checked(plan, ahead.copy, map);
    if (stood)
      refuse(plan, fmt::format("expert {} is copied ahead to worker {}, which already holds it", ahead.copy.expert,
                               ahead.copy.to));
  }
}

PlanPtr EmbeddedPlans::next(const Demand& demand, std::int64_t serial) {
  AFORE_CHECK(!plans_.empty(), "a target is planned before it was pushed");
  const std::unique_ptr<Plan> given = std::move(plans_.front());
  plans_.pop_front();
  LayerPlacement& placement = state(demand.target.layer);
  planned_layers_.insert(demand.target.layer);
  Plan plan;
  if (given) {
    validate(demand, *given);
    plan = *given;
    if (!plan.is_virtual)
      for (const Copy& copy : plan.copies) migrate::Transition::apply(placement, copy);
    if (plan.rehomes && !plan.copies.empty()) placement.mark_rehomed();
    validate_ahead(plan);
    for (const AheadCopy& ahead : plan.ahead) migrate::Transition::apply(state(ahead.layer), ahead.copy);
  } else {
    std::vector<std::int64_t> tiles;
    count_tiles(demand.counts, cluster_.tile_tokens, tiles);
    plan.seq = serial;
    plan.target = demand.target;
    plan.policy = "none";
    plan.assignment = primary_assignment(tiles, placement);
    const WorkerLoads loads =
        worker_loads(plan.assignment, static_cast<int>(cluster_.ffn_workers), cost_, cluster_.workers);
    plan.tile_load = loads.tiles;
    plan.max_tile_load = plan.max_tile_load_before = loads.max_tiles;
    plan.ffn_ns = plan.ffn_ns_before = loads.max_ns;
  }
  return make_published(std::move(plan), demand, serial, cluster_.tile_tokens, static_cast<int>(cluster_.ffn_workers),
                        placement);
}

}  // namespace afore::pipeline
