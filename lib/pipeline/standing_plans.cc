#include "pipeline/standing_plans.h"

#include <algorithm>
#include <optional>

#include "pipeline/placement_record.h"
#include "util/error.h"

namespace afore::pipeline {
namespace {

[[noreturn]] void refuse_losses() {
  throw Error(ErrorKind::usage, "a placement that stands cannot go on without a worker", "plan with a policy");
}

class EvenPlans final : public PlanSource {
 public:
  EvenPlans(const ModelSpec& model, const ClusterSpec& cluster, const LayerCost& cost)
      : model_(model), cluster_(cluster), cost_(cost) {}

  const LayerPlacement& placement(int layer) override {
    const auto it = layers_.find(layer);
    if (it != layers_.end()) return it->second;
    return layers_
        .emplace(layer, LayerPlacement::initial(static_cast<int>(model_.experts), workers(),
                                                static_cast<int>(cluster_.redundant_slots)))
        .first->second;
  }

  void on_placement(const PlacementRecord& record) override {
    if (!layers_.contains(record.layer))
      layers_.emplace(record.layer, placement_from(record, static_cast<int>(model_.experts), workers()));
  }

  PlanPtr next(const Demand& demand, std::int64_t serial) override {
    check_magnitude(demand.target, demand.tokens, demand.counts, workers(), cost_, cluster_.workers);
    const LayerPlacement& standing = placement(demand.target.layer);
    Plan plan;
    plan.seq = serial;
    plan.target = demand.target;
    plan.policy = "standing";
    for (int expert = 0; expert < standing.experts(); ++expert)
      share_out(standing, expert, demand.counts[expert], plan);
    const WorkerLoads loads = worker_loads(plan.assignment, workers(), cost_, cluster_.workers);
    plan.tile_load = loads.tiles;
    plan.max_tile_load = plan.max_tile_load_before = loads.max_tiles;
    plan.ffn_ns = plan.ffn_ns_before = loads.max_ns;
    return make_published(std::move(plan), demand, serial, cluster_.tile_tokens, workers(), standing);
  }

  Recovery lose_workers(const std::vector<bool>&, const std::map<int, std::vector<int>>&) override { refuse_losses(); }

 private:
  int workers() const { return static_cast<int>(cluster_.ffn_workers); }

  // A worker that holds an expert twice is two replicas, as it is for systems that choose a physical expert.
  void share_out(const LayerPlacement& standing, int expert, std::int64_t tokens, Plan& plan) const {
    if (tokens == 0) return;
    std::vector<std::int64_t> replicas;  // of each holder
    std::int64_t all = 0;
    for (const int worker : standing.holders(expert)) {
      std::int64_t count = 0;
      for (int slot = 0; slot < standing.slots_per_worker(); ++slot)
        count += standing.expert_at(worker, slot) == expert ? 1 : 0;
      replicas.push_back(count);
      all += count;
    }
    AFORE_CHECK(all > 0, "an expert has no replica");
    std::int64_t seen = 0;
    for (std::size_t i = 0; i < replicas.size(); ++i) {
      const std::int64_t extra = std::clamp<std::int64_t>(tokens % all - seen, 0, replicas[i]);
      const std::int64_t share = tokens / all * replicas[i] + extra;
      seen += replicas[i];
      if (share == 0) continue;
      const int worker = standing.holders(expert)[i];
      plan.assignment_tokens.push_back({expert, worker, share});
      plan.assignment.push_back({expert, worker, ceil_div(share, cluster_.tile_tokens)});
    }
  }

  ModelSpec model_;
  ClusterSpec cluster_;
  LayerCost cost_;
  std::map<int, LayerPlacement> layers_;
};

class HeldPlans final : public PlanSource {
 public:
  HeldPlans(const ModelSpec& model, const ClusterSpec& cluster, const LayerCost& cost, const PlannerOptions& options,
            std::int64_t from_step, std::function<void(const PlannedTarget&)> emit)
      : planner_(model, cluster, cost, options),
        held_(exact_split(options)),
        cluster_(cluster),
        from_step_(from_step),
        emit_(std::move(emit)) {}

  const LayerPlacement& placement(int layer) override { return planner_.placement(layer); }
  void on_placement(const PlacementRecord& record) override { planner_.set_placement(record); }
  Recovery lose_workers(const std::vector<bool>&, const std::map<int, std::vector<int>>&) override { refuse_losses(); }

  PlanPtr next(const Demand& demand, std::int64_t serial) override {
    if (held_ && demand.target.step >= from_step_) {
      planner_.change(*held_);
      held_.reset();
    }
    PlannedTarget planned = planner_.plan(demand);
    emit_(planned);
    return make_published(std::move(planned.plan), demand, serial, cluster_.tile_tokens,
                          static_cast<int>(cluster_.ffn_workers), planner_.placement(demand.target.layer));
  }

 private:
  Planner planner_;
  std::optional<PlannerOptions> held_;  // until it is changed to
  ClusterSpec cluster_;
  std::int64_t from_step_;
  std::function<void(const PlannedTarget&)> emit_;
};

}  // namespace

PlannerOptions exact_split(PlannerOptions options) {
  options.policy = "afore";  // splits exactly, and levels
  options.source = DemandSource::prefetch;
  options.limits.copy_budget = 0;  // it fills no slots then
  return options;
}

std::unique_ptr<PlanSource> even_plans(const ModelSpec& model, const ClusterSpec& cluster, const LayerCost& cost) {
  return std::make_unique<EvenPlans>(model, cluster, cost);
}

std::unique_ptr<PlanSource> held_plans(const ModelSpec& model, const ClusterSpec& cluster, const LayerCost& cost,
                                       const PlannerOptions& options, std::int64_t from_step,
                                       std::function<void(const PlannedTarget&)> emit) {
  return std::make_unique<HeldPlans>(model, cluster, cost, options, from_step, std::move(emit));
}

}  // namespace afore::pipeline
