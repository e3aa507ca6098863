#pragma once
// Where the scheduler's plans come from: a live planner, plans embedded in the stream (executed as written), or none
// (the placement stands). Asked once per target, in stream order.
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>

#include "pipeline/messages.h"
#include "pipeline/planner.h"

namespace afore::pipeline {

class PlanSource {
 public:
  virtual ~PlanSource() = default;
  // The layer's map before its next plan.
  virtual const LayerPlacement& placement(int layer) = 0;
  virtual PlanPtr next(const Demand& demand, std::int64_t serial) = 0;
  // A prediction read from the stream, in its place there. Of no use to plans that are fixed.
  virtual void on_prediction(const Prediction&) {}
  // A placement record read from the stream; effective only before the layer's first plan.
  virtual void on_placement(const PlacementRecord& record) = 0;
  // FFN workers were lost (Planner::lose_workers): the maps that stand from now on. Error{usage} where plans are fixed.
  virtual Recovery lose_workers(const std::vector<bool>& alive, const std::map<int, std::vector<int>>& complete) = 0;
  // Planner::change(). Error{usage} where nobody plans.
  virtual void change(const PlannerOptions& options);
};

// `emit` sees every planned target before it is published.
std::unique_ptr<PlanSource> live_plans(const ModelSpec& model, const ClusterSpec& cluster, const LayerCost& cost,
                                       const PlannerOptions& options, std::function<void(const PlannedTarget&)> emit);

// Plans as they stand in the stream, or everything on the primaries where the stream has none.
class EmbeddedPlans final : public PlanSource {
 public:
  EmbeddedPlans(const ModelSpec& model, const ClusterSpec& cluster, const LayerCost& cost);
  // The plan of the target pushed with it, or nullptr; called in stream order, before next() is asked for that target.
  // Error{data} when the plan does not fit the target or the placement it would change.
  void push(const Demand& demand, const Plan* plan);

  const LayerPlacement& placement(int layer) override { return state(layer); }
  PlanPtr next(const Demand& demand, std::int64_t serial) override;
  void on_placement(const PlacementRecord& record) override;
  Recovery lose_workers(const std::vector<bool>& alive, const std::map<int, std::vector<int>>& complete) override;

 private:
  LayerPlacement& state(int layer);
  void validate(const Demand& demand, const Plan& plan);
  void validate_ahead(const Plan& plan);

  ModelSpec model_;
  ClusterSpec cluster_;
  LayerCost cost_;
  std::map<int, LayerPlacement> layers_;
  std::set<int> planned_layers_;
  std::deque<std::unique_ptr<Plan>> plans_;
  std::int64_t last_seq_ = -1;
};

}  // namespace afore::pipeline
