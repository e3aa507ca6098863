#pragma once
// The question a policy is asked for each target, and its answer. Three choices are kept apart: where replicas stand
// (placement, changed only by copies), how the target's tiles are split over them, and which copies to make.
// Implementations own their scratch; the spans of a request are valid only during the call.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/assignment.h"
#include "core/cost_model.h"
#include "core/ids.h"
#include "core/placement.h"

namespace afore::placement {

// How a target's tokens are shared by the replicas a policy chose: as the policy does, or exactly.
enum class Split { own, exact };

// Limits of the search, fixed for a run.
struct Limits {
  Objective objective = Objective::time;
  std::int64_t copy_budget = 0;  // copies per plan
  bool gain_rule = true;         // false: copy whatever lowers the objective, however long that takes
  Split split = Split::own;      // ours are exact in any case
  bool level = true;             // afore: plan for when workers are done, with what earlier targets left them
  int microbatches = 1;          // in flight
  std::int64_t node_budget = 0;  // of the proof that a split is best, per threshold; 0 = no proof
};

struct Request {
  Target target;
  std::span<const std::int64_t> counts;  // the demand to plan for (the truth, or a guess)
  const LayerPlacement& placement;       // what stands now, complete
  std::span<const std::uint8_t> busy;    // by placement.index(): 1 = work in a recent target, must not be overwritten
  std::span<const std::int64_t>
      last_used;  // by placement.index(): serial of the last target with work there, -1 = never
  const LayerCost& cost;
  Nanos window_ns = 0;                         // copies hidden up to here
  std::span<const std::uint8_t> pinned = {};   // by expert: 1 = never copied. Empty = none
  std::span<const WorkerTraits> workers = {};  // empty = all alike
  // By placement.index(): 1 = a slot that the target's own copies may take, but none for later targets. Empty = none.
  std::span<const std::uint8_t> kept = {};

  bool is_busy(int worker, int slot) const { return !busy.empty() && busy[placement.index(worker, slot)] != 0; }
  bool is_pinned(int expert) const { return !pinned.empty() && pinned[expert] != 0; }
};

struct Decision {
  void clear();  // keeps the buffers

  std::vector<Copy> copies;           // in execution order; each fills `slot` of `to` before the target runs
  std::vector<TileShare> assignment;  // over the placement after the copies
  // Best reachable without copies: the best split found over the replicas that stand.
  std::int64_t max_tiles_before = 0;
  Nanos ffn_ns_before = 0;
  // No plan within the limits is below these (volume, cuts, hot sets, copy counting, forced parts: docs/metrics.md).
  std::int64_t lower_bound_tiles = 0;
  Nanos lower_bound_ns = 0;
  std::vector<int> cut;    // objective tiles: worker set that proves lower_bound_tiles, where a cut is the proof
  bool certified = false;  // the stated objective meets its lower bound
  // Objective time: no split over the replicas that the target runs on takes less, whatever copies could do.
  Nanos split_bound_ns = 0;
  // Of policies that solve a linear relaxation, objective time: no plan within the limits takes less. kAbsent = none.
  Nanos relaxation_bound_ns = kAbsent;
  bool budget_hit = false;  // the search ended at its node budget
  // By worker, what the plan takes to be left of earlier targets; empty where a policy looks at the target alone.
  std::vector<Nanos> backlog_ns;
  // Replicas that stand but are still being copied, which the plan does not use, ascending by (expert, worker).
  std::vector<ReplicaAt> unready;
  // EPLB and other policies that split by tokens: replaces the rule of docs/records.md. Empty otherwise.
  std::vector<TokenShare> assignment_tokens;
};

inline void Decision::clear() {
  copies.clear();
  assignment.clear();
  assignment_tokens.clear();
  cut.clear();
  backlog_ns.clear();
  unready.clear();
  max_tiles_before = lower_bound_tiles = 0;
  ffn_ns_before = lower_bound_ns = split_bound_ns = 0;
  relaxation_bound_ns = kAbsent;
  certified = budget_hit = false;
}

class Policy {
 public:
  virtual ~Policy() = default;
  // Fills `decision`, whose buffers are used again: whatever stood in it is gone.
  virtual void plan(const Request& request, Decision& decision) = 0;
  Decision decide(const Request& request) {
    Decision decision;
    plan(request, decision);
    return decision;
  }
  virtual bool rehomes() const { return false; }
  virtual bool is_virtual() const { return false; }
};

// The three phases as published, the fixed one and the yardstick keep no state. EPLB plans copies over many steps:
// lib/placement/eplb.h has its solver, lib/migrate its transitions.
std::unique_ptr<Policy> make_static(const Limits& limits);
std::unique_ptr<Policy> make_paper(const Limits& limits);
std::unique_ptr<Policy> make_afore(const Limits& limits);
std::unique_ptr<Policy> make_split(const Limits& limits);
std::unique_ptr<Policy> make_ideal(const Limits& limits);
std::unique_ptr<Policy> make_director(const Limits& limits);
std::unique_ptr<Policy> make_annealing(const Limits& limits);

}  // namespace afore::placement
