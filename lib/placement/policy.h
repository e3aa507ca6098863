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
  bool gain_rule = true;         // false: install whatever lowers the objective, however long its copies take
  Split split = Split::own;      // ours are exact in any case
};

struct Request {
  Target target;
  std::span<const std::int64_t> counts;  // the demand to plan for (the truth, or a guess)
  const LayerPlacement& placement;       // what stands now, complete
  std::span<const std::uint8_t> busy;    // by placement.index(): 1 = work in a recent target, must not be overwritten
  std::span<const std::int64_t>
      last_used;  // by placement.index(): serial of the last target with work there, -1 = never
  const LayerCost& cost;
  Nanos window_ns = 0;  // copies hidden up to here
};

struct Decision {
  std::vector<Copy> copies;           // in execution order; each fills `slot` of `to` before the target runs
  std::vector<TileShare> assignment;  // over the placement after the copies
  // Best reachable without copies, after rebalancing over the replicas that stand.
  std::int64_t max_tiles_before = 0;
  Nanos ffn_ns_before = 0;
  // No plan within the limits is below these (volume, cuts, hot sets, copy counting, forced parts: docs/metrics.md).
  std::int64_t lower_bound_tiles = 0;
  Nanos lower_bound_ns = 0;
  std::vector<int> cut;    // objective tiles: worker set that proves lower_bound_tiles, where a cut is the proof
  bool certified = false;  // the stated objective meets its lower bound
  // EPLB and other policies that split by tokens: replaces the rule of docs/records.md. Empty otherwise.
  std::vector<TokenShare> assignment_tokens;
};

class Policy {
 public:
  virtual ~Policy() = default;
  virtual Decision decide(const Request& request) = 0;
  virtual bool rehomes() const { return false; }
  virtual bool is_virtual() const { return false; }
};

// The three-phase policy (lib/placement/afore.cc), the fixed one and the yardstick. EPLB keeps state across targets
// and plans copies over many steps: lib/placement/eplb.h has its solver, lib/migrate its transitions.
std::unique_ptr<Policy> make_static(const Limits& limits);
std::unique_ptr<Policy> make_afore(const Limits& limits);
std::unique_ptr<Policy> make_split(const Limits& limits);
std::unique_ptr<Policy> make_ideal(const Limits& limits);

}  // namespace afore::placement
