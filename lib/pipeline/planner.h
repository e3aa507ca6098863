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
#include "pipeline/initial_maps.h"
#include "pipeline/membership.h"
#include "placement/policy.h"

namespace afore::pipeline {

enum class DemandSource { prefetch, last_step, window };

struct EplbOptions {
  int interval_steps = 50;
  std::int64_t step_bytes = kAbsent;  // copies started per step, all layers together; kAbsent = 4 experts
  int groups = 1;
  int nodes = 1;
  bool allow_duplicates = true;
};

struct PlannerOptions {
  std::string policy = "afore";  // one of placement::policies()
  DemandSource source = DemandSource::prefetch;
  int window_steps = 50;
  placement::Limits limits;
  std::optional<Nanos> window_ns;  // --window-us; without it the predicted FFN time of the preceding
                                   // target, or 0 where fewer than three microbatches are in flight
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

// State of one layer. Indices are LayerPlacement::index().
struct LayerState {
  LayerState(LayerPlacement initial, std::int64_t microbatches);
  // Slots with work in the last M-1 targets of the layer, which no copy may overwrite.
  std::span<const std::uint8_t> busy() const { return busy_; }
  void record_use(std::span<const TileShare> assignment, std::int64_t serial);
  // No copy goes to this worker any more: it is lost.
  void close_worker(int worker);

  LayerPlacement placement;
  std::vector<std::int64_t> last_used;  // serial of the last target with work in the slot, -1 = never
  bool announced = false;               // its placement record was written

 private:
  std::vector<std::uint8_t> closed_;  // slots of lost workers
  std::vector<std::uint8_t> busy_;
  std::vector<std::vector<std::size_t>> recent_;  // ring of M-1 lists of used slots
  std::size_t next_ = 0;
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

  // Demand must be conserved and sized to `experts` (the decoder checks both).
  PlannedTarget plan(const Demand& demand);

  // Workers were lost for good. `complete` by layer: what recover_layer() takes, for the layers that workers have a map
  // of; the others are as planned. Sets the maps of all layers of the model anew; targets that ran when the workers
  // were lost are then planned again. Error{usage} when the layers are not known, or the policy is the yardstick.
  Recovery lose_workers(const std::vector<bool>& alive, const std::map<int, std::vector<int>>& complete);

  // Whole map of every layer seen so far.
  const std::map<int, std::unique_ptr<LayerState>>& layers() const { return layers_; }

 private:
  struct Way {  // of planning
    PlannerOptions options;
    std::unique_ptr<placement::Policy> policy;
    std::unique_ptr<BackgroundPolicy> background;  // where there is no policy
    bool is_virtual() const { return policy && policy->is_virtual(); }
  };
  std::shared_ptr<Way> make_way(PlannerOptions options) const;
  Way& way_of(int layer, const LayerState& state);
  LayerState& layer(int layer);
  Nanos window(const char*& source) const;
  void plan_by_policy(const Demand& demand, Way& way, LayerState& state, Plan& plan);
  void finish_plan(const Demand& demand, const Way& way, const LayerState& state, Plan& plan);

  ModelSpec model_;
  ClusterSpec cluster_;
  LayerCost cost_;
  PlannerOptions options_;            // those that hold for the whole run
  std::vector<std::uint8_t> pinned_;  // by expert; empty = none
  std::shared_ptr<Way> way_;
  std::map<int, std::shared_ptr<Way>> unfinished_;  // by layer that was not whole at a change: the way before it
  std::map<int, std::unique_ptr<LayerState>> layers_;
  demand::LastStep last_step_;
  demand::Window window_history_;
  std::int64_t seq_ = 0;
  std::optional<Nanos> preceding_ffn_ns_;
  std::vector<std::int64_t> true_tiles_, guess_counts_, guess_tiles_;
};

const char* to_string(DemandSource source);
// EPLB has its own history; the yardstick sees the truth, or it would be none.
DemandSource effective_source(const std::string& policy, DemandSource asked);

}  // namespace afore::pipeline
