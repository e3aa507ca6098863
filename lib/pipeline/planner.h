#pragma once
// Plans targets in stream order: demand source, policy, placement state and busy slots of every layer. The Scheduler
// actor and the stream host both use it, so a filter and a simulated run make identical plans.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/records.h"
#include "demand/history.h"
#include "pipeline/ahead_judge.h"
#include "pipeline/ahead_planner.h"
#include "pipeline/initial_maps.h"
#include "pipeline/layer_state.h"
#include "pipeline/membership.h"
#include "placement/arriving.h"
#include "placement/policy.h"
#include "placement/registry.h"

namespace afore::pipeline {

// What targets are planned from: their own demand, their last step's, a mean of steps, or what is predicted of them:
// then copies are made ahead, and the target itself is split over what stands. usual: as the policy is meant to.
enum class DemandSource { prefetch, last_step, window, prediction, usual };

struct EplbOptions {
  int interval_steps = 50;
  std::int64_t step_bytes = kAbsent;  // copies started per step, all layers together; kAbsent = 4 experts
  int groups = 1;
  int nodes = 1;
  bool allow_duplicates = true;
};

struct PlannerOptions {
  std::string policy = "afore";  // one of placement::policies()
  DemandSource source = DemandSource::usual;
  int window_steps = 50;
  placement::Limits limits;
  std::optional<Nanos> window_ns;  // --window-us; without it the predicted FFN time of the preceding
                                   // target, or 0 where fewer than three microbatches are in flight
  int layers_ahead = 1;            // MoE layers that copies by predictions are made ahead of
  bool overlap = true;             // false: copies start only when the worker is free, so the window is 0
  EplbOptions eplb;
  std::vector<int> pinned;                     // experts that are never copied
  std::shared_ptr<const InitialMaps> initial;  // layers that do not start with contiguous primaries; may be null
};

struct PlannedTarget {
  std::optional<PlacementRecord> before;  // the layer's first map, ahead of its first plan
  Plan plan;
  std::optional<PlacementRecord> completed;  // the layer's map when the plan's copies complete a transition
  // Of hosts that carry plans out in true time.
  std::vector<std::int64_t> worker_tokens;  // token-expert assignments by FFN worker; else empty
  Nanos plan_ns = kAbsent;                  // that planning took
};

// A policy that changes placement on its own clock; EPLB is the one there is.
class BackgroundPolicy {
 public:
  virtual ~BackgroundPolicy() = default;
  // Fills plan.copies, plan.assignment(_tokens) for the target and applies the copies to `layer.placement`; sets
  // `completed` to the layer's map when its transition ended.
  virtual void plan(const Demand& demand, LayerState& layer, Plan& plan, std::optional<PlacementRecord>& completed) = 0;
  // A worker was lost and maps were repaired: from now on the placement stands.
  virtual void freeze() = 0;
  // Another policy follows: nothing new is begun. What is half done goes on while its layer is planned here.
  virtual void wind_up() = 0;
};

class Planner {
 public:
  // `model` needs experts and moe_layers or learns layers as they come; `cluster` needs ffn_workers, redundant_slots,
  // tile_tokens and microbatches. Error{usage} names what is absent.
  Planner(const ModelSpec& model, const ClusterSpec& cluster, const LayerCost& cost, const PlannerOptions& options);
  ~Planner();

  // What stands in a layer now.
  const LayerPlacement& placement(int layer) { return this->layer(layer).placement; }

  // A layer's map from the stream. False, and nothing happens, where PlannerOptions::initial has one or the layer had a
  // target. Error{data} when it does not fit.
  bool set_placement(const PlacementRecord& record);

  // PlannerOptions::window_ns from the next plan on.
  void set_window(std::optional<Nanos> window_ns) { options_.window_ns = window_ns; }

  // Plans as these options say from the next target on; the replicas that stand are kept. A layer half-way through a
  // rearrangement, an expert whole in no slot of its own, is planned as before until it is whole. Of the options only
  // policy, source and limits may differ. Error{usage}, and nothing happens, where workers hold other weights than the
  // policy needs (ideal, from and to).
  void change(const PlannerOptions& options);
  static void check_change(const std::string& from, const std::string& to);  // Error{usage} as change()

  // What is expected of a target to come; policies that do not look at predictions forget it. Error{data} as
  // AheadPlanner::on_prediction().
  void on_prediction(const Prediction& prediction);
  // Plans made ahead so far, by predictions.
  std::int64_t predictions_used() const { return way_->ahead ? way_->ahead->used() : 0; }

  // Of conserved demand (the decoder checks that). Error{data}: other experts, or more microbatches, than there are.
  PlannedTarget plan(const Demand& demand);

  // Workers were lost for good. `complete` by layer: what recover_layer() takes, for the layers that workers have a map
  // of; the others are as planned. Sets the maps of all layers of the model anew; targets that ran when the workers
  // were lost are then planned again. Error{usage} when the layers are not known, or the policy is the yardstick.
  Recovery lose_workers(const std::vector<bool>& alive, const std::map<int, std::vector<int>>& complete);

  // Whole map of every layer seen so far.
  const LayerStates& layers() const { return layers_; }

 private:
  struct Way {  // of planning
    PlannerOptions options;
    std::unique_ptr<placement::Policy> policy;
    std::unique_ptr<BackgroundPolicy> background;  // where there is no policy
    std::unique_ptr<AheadPlanner> ahead;           // where copies are made by predictions
    std::unique_ptr<AheadJudge> judge;             // where they share slots with residents
    std::unique_ptr<placement::Policy> standing;   // source prediction: splits over what stands
    bool is_virtual() const { return policy && policy->is_virtual(); }
  };
  std::shared_ptr<Way> make_way(PlannerOptions options) const;
  Way& way_of(int layer, const LayerState& state);
  LayerState& layer(int layer);
  Nanos window(const char*& source) const;
  void make_ahead(const placement::PolicyInfo& info, Way& way) const;
  placement::Request request_of(const Demand& demand, Way& way, const LayerState& state, Plan& plan);
  void plan_ahead(const Demand& demand, Way& way, Plan& plan);
  void plan_by_policy(const Demand& demand, Way& way, LayerState& state, Plan& plan);
  void finish_plan(const Demand& demand, const Way& way, const LayerState& state, Plan& plan);

  ModelSpec model_;
  ClusterSpec cluster_;
  LayerCost cost_;
  PlannerOptions options_;            // those that hold for the whole run
  std::vector<std::uint8_t> pinned_;  // by expert; empty = none
  std::shared_ptr<Way> way_;
  std::map<int, std::shared_ptr<Way>> unfinished_;  // by layer that was not whole at a change: the way before it
  LayerStates layers_;
  demand::LastStep last_step_;
  demand::Window window_history_;
  std::int64_t seq_ = 0;
  std::optional<Nanos> preceding_ffn_ns_;
  std::vector<std::int64_t> true_tiles_, guess_counts_;
  placement::WithoutArriving without_arriving_;
};

const char* to_string(DemandSource source);
// EPLB has its own history; the yardstick sees the truth, or it would be none. Never `usual`.
DemandSource effective_source(const std::string& policy, DemandSource asked);

}  // namespace afore::pipeline
