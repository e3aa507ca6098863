#pragma once
// Inside the checker: what a stream has established so far, and the checks of one plan in the order they run.
// Deliberately plain, and written without the planner's arithmetic: agreement of two independent computations is
// what a passed check means.
#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/records.h"
#include "util/error.h"

namespace afore::verify {

inline constexpr int kNobody = -1;  // empty slot
inline constexpr int kAbsentSlot = -2;
inline constexpr int kStaging = -1;  // as copies name it

__extension__ typedef __int128 Wide;  // products of claimed values do not overflow
using Counts = std::vector<std::int64_t>;

// "step 17 layer 3 microbatch 1: " and what is wrong there.
template <class... Args>
[[noreturn]] void violate(const Target& target, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ErrorKind::answer_no, fmt::format("step {} layer {} microbatch {}: {}", target.step, target.layer,
                                                target.microbatch, fmt::format(format, std::forward<Args>(args)...)));
}

// The numbers of the header every check needs.
struct Facts {
  int experts = 0, workers = 0, slots = 0, microbatches = 0;
  std::int64_t top_k = 0, tile_tokens = 0;
  std::vector<int> moe_layers;
  PlannerSpec planner;
  // By worker: thousandths that c1 and c2, and copies, take there; and whether it is to be emptied. By expert: never
  // copied.
  Counts slowness, copy_slowness;
  std::vector<std::uint8_t> drains, pinned;
  std::int64_t fastest = 1000;  // the least of `slowness`
};

// What a worker's tiles and activated experts take there, written out by itself: c0, then both terms added or, by the
// roofline rule, the larger one, in thousandths of the worker's slowness and rounded up.
Nanos worker_ns(const Facts& facts, int worker, std::int64_t tiles, std::int64_t activated);

// One layer's slots: worker-major, regular slots first, each worker's staging buffer last.
struct LayerMap {
  LayerMap(int experts_, int workers_, int slots_);
  static LayerMap initial(const Facts& facts);

  std::size_t at(int worker, int slot) const {
    return static_cast<std::size_t>(worker) * (slots + 1) + (slot == kStaging ? slots : slot);
  }
  // The slot a worker uses for the expert: the lowest regular one, else staging, else kAbsentSlot.
  int used_slot(int expert, int worker) const;
  // Where its primary is until workers are re-homed: the initial worker, or what a placement record says.
  int home(int expert) const { return homes[expert]; }
  int primary(int expert) const;  // its home, or after re-homing the lowest-index worker that holds it
  bool is_primary_slot(int worker, int slot) const;
  int replicas(int expert) const;  // slots that hold it, staging included
  std::vector<std::vector<int>> holders() const;
  bool busy(int worker, int slot, int microbatches) const {
    return last_work[at(worker, slot)] > targets - microbatches;
  }

  int experts, workers, slots;
  bool rehomed = false, planned = false;
  std::vector<int> homes, held;
  std::int64_t targets = 0;             // of this layer so far
  std::vector<std::int64_t> last_work;  // number of the last target with work in the slot; from 0
  std::vector<std::int64_t> last_seq;   // of that target's plan
  std::vector<Target> last_target;
};

// What stood when the target's plan was made: what limits and bounds refer to.
struct Standing {
  std::vector<std::vector<int>> holders;  // those that drain only where an expert has no other
  // Everybody, where the plan is virtual; those that drain too, where the plan gives them work they need not do.
  std::vector<std::vector<int>> bound_holders;
  int outside = -1;   // a share of a draining worker that another could have taken, -1 = none
  Counts open_slots;  // per worker: slots a copy may fill
  std::int64_t budget = 0;
  Counts tiles;              // per expert, ceil(count / tile_tokens)
  Nanos primary_ns = 0;      // everything on the primaries
  Counts primary_worker_ns;  // the same by worker, 0 = nothing to do
};
// The workers of a list that do not drain; all of them, where all do.
std::vector<int> not_draining(const Facts& facts, const std::vector<int>& holders);
// Where an expert's work stays when nothing is balanced: its primary, or the first that does not drain in its place.
int stand_in(const Facts& facts, const std::vector<int>& holders, int primary);
Standing stand(const Facts& facts, const LayerMap& layer, const Plan& plan, const Demand& demand);

// When workers and targets are done by the plans so far, from the start of the stream.
struct Timeline {
  Counts worker_done;
  Counts target_done;
};

bool from_guess(const Plan& plan);
// Policies that do not promise a gain: another system's rule may do worse than standing still and copies for what it
// takes for one, and policy split fills its slots for later targets.
bool may_lose(const Facts& facts);
// Policies that leave draining workers alone wherever another replica stood when they planned.
bool keeps_off(const Facts& facts);
inline std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Each throws the first violation it finds. apply_copies leaves the layer as it stands when the target runs.
void apply_copies(const Facts& facts, const Plan& plan, LayerMap& layer);
// One copy for a target of another layer, applied to that layer's map.
void apply_ahead(const Facts& facts, const Plan& plan, const AheadCopy& ahead, LayerMap& layer);
void check_assignment(const Facts& facts, const Plan& plan, const Demand& demand, const LayerMap& layer);
void check_loads(const Facts& facts, const Plan& plan);
void check_before(const Facts& facts, const Plan& plan, const Standing& standing);
void check_bounds(const Facts& facts, const Plan& plan, const Standing& standing);
void check_timing(const Facts& facts, const Plan& plan);
void check_backlog(const Facts& facts, const Plan& plan, Timeline& timeline);
void check_observed(const Observed& observed);
void record_work(const Plan& plan, LayerMap& layer);

// Whether all tiles fit over the given holders with at most `capacity` tiles per worker (a maximum flow).
bool split_fits(const Counts& tiles, const std::vector<std::vector<int>>& holders, int workers, std::int64_t capacity);

}  // namespace afore::verify
