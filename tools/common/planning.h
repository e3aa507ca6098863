#pragma once
// The flags that afore-plan and afore-serve share, and what they mean together with a stream's header: a flag fills
// what the header lacks and may not contradict what it has; defaults fill the rest.
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/options.h"
#include "core/records.h"
#include "pipeline/planner.h"

namespace afore::cli {

struct PlanningFlags {
  std::string policy;  // empty = not given
  std::string predictor;
  std::string demand_source, objective = "time", gain_rule = "on", split = "own", cost, model, overlap = "on",
                             level = "on";
  std::int64_t workers = kAbsent, slots = kAbsent, tile_tokens = kAbsent, attention_workers = kAbsent;
  std::int64_t microbatches = kAbsent, top_k = kAbsent;
  std::int64_t copy_budget = kAbsent, window_us = kAbsent, window_steps = 50, plan_budget_nodes = 0, layers_ahead = 1;
  std::int64_t eplb_interval = 50, eplb_groups = 1, eplb_nodes = 1;
  std::string eplb_step_bytes;
  bool no_duplicates = false;
  std::string init, primaries = "auto";
  std::int64_t balance_steps = kAbsent;
  std::vector<std::string> worker_specs;
  std::string pin_experts;
};

// The kinds of records a stream may have, for --only.
std::vector<std::string> record_kinds();

// `with_policy`: --policy, whose default is set by the tool.
void add_planning_flags(Command app, PlanningFlags& flags, bool with_policy);

// --predictor, for tools that plan recorded streams.
void add_predictor_flag(Command app, PlanningFlags& flags);
// At the end of a run: a policy that plans from predictions, and there were none to use.
void warn_without_predictions(const PlanningFlags& flags, const pipeline::PlannerOptions& options, std::int64_t used);

// Everything a planner, a simulator or a verifier needs to know.
struct Setup {
  ModelSpec model;  // as the stream and the flags have it
  ModelSpec sized;  // the same, with sizes assumed where nothing says them: for times only, never written
  ClusterSpec cluster;
  HardwareProfile profile;
  LayerCost cost;
  pipeline::PlannerOptions planner;
  std::shared_ptr<const pipeline::InitialMaps> init, balanced;  // of --init, and of the stream's history

  // What the layers of this policy start with, for PlannerOptions::initial.
  std::shared_ptr<const pipeline::InitialMaps> initial_maps(const std::string& policy) const;
  bool contiguous = false, balance_all = false;  // --primaries
};

// `header`: the stream's, if it has one. Error{usage} when a flag contradicts it or something needed is unknown.
Setup resolve(const PlanningFlags& flags, const std::optional<Header>& header, const std::string& default_policy);

// Where nothing can be predicted, what is usual is the target's own demand. Error{usage} for --demand-source
// prediction.
void plan_without_predictions(Setup& setup);

class RecordStream;
// Reads --init, or the history of a stream whose first record was read last, and sets setup.planner.initial. Maps that
// the stream has itself stand, unless `drop_maps`.
void find_initial_maps(const PlanningFlags& flags, RecordStream& stream, std::span<const std::string> policies,
                       bool drop_maps, Setup& setup);

// What this setup adds to a header (model sizes, cluster; `planner` only when the tool plans).
Header gained(const Setup& setup, bool plans);

}  // namespace afore::cli
