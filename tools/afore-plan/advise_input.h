#pragma once
// A stream of demand held whole, cut into two windows of steps: history, to plan on, and what follows it, to judge by.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/planning.h"

namespace afore::plan {

struct AdviseFlags {
  cli::PlanningFlags planning;
  std::string input = "-", recover = "tail", policies = "afore", links = "own";
  std::int64_t history_steps = kAbsent, evaluate_steps = kAbsent;
  std::int64_t kv_tokens = 1024;
  double min_gain_percent = 1, confidence_percent = 95;
  bool replan = false, allow_drop = false, json = false;
};

struct Workload {
  std::string name;  // of the stream, for messages
  std::vector<Demand> targets;
  std::vector<int> batch_of;  // by target: index into batches, -1 = none
  std::vector<Batch> batches;
  std::map<int, PlacementRecord> placements;  // that stood before a layer's first target, by layer
  // Step numbers, ascending, warm-up left out. Steps before the first of `evaluation` are history or warm-up.
  std::vector<std::int64_t> history, evaluation;

  bool in_evaluation(std::int64_t step) const { return !evaluation.empty() && step >= evaluation.front(); }
};

// Reads to the end of the stream, or to that of the windows where both lengths are given. Warm-up targets and their
// copies come before the history's. `setup` is resolved from the header and the flags. Error{data}: no demand, or a
// stream that is not one of targets; Error{usage}: a history that leaves nothing to evaluate on.
Workload read_workload(const AdviseFlags& flags, cli::Setup& setup);

}  // namespace afore::plan
