#pragma once
// The least largest load of one target, by mixed-integer programming: over all splits of what stands, and over all sets
// of copies within the limits. Shares no code with the planner. The program (integers tiles_p, binaries works_p by
// place p, a pair of expert and worker):
//   minimise T;  sum over an expert's places of tiles_p = its tiles;  tiles_p <= (its tiles) works_p;
//   T >= slowdown_w (per_tile sum tiles_p + per_expert sum works_p) on worker w; two rows under the roofline rule;
//   on w, works of new places + works of places that may be evicted <= safe slots;  works of new places <= copies.
// A copy without work is no use and an evicted replica does none, so works_p stands for both.
#include <cstdint>
#include <span>
#include <vector>

#include "core/cost_model.h"
#include "core/placement.h"
#include "milp.h"

namespace afore::test {

struct PlanSpace {
  struct Place {
    enum class Kind { standing, evictable, copy } kind = Kind::standing;
    int expert = 0, worker = 0;
  };
  int workers = 0;
  std::vector<std::int64_t> tiles;  // by expert
  std::vector<Place> places;
  std::vector<int> safe_slots;  // by worker
  std::int64_t copies = 0;

  // Every copy within the limits: into slots that are not busy (by placement.index()) and hold no primary. The
  // placement has no expert twice on a worker.
  static PlanSpace of(const LayerPlacement& placement, std::span<const std::uint8_t> busy,
                      std::span<const std::int64_t> tiles, std::int64_t copies);
};

struct Weights {
  LoadRule rule = LoadRule::additive;
  std::int64_t per_tile = 1, per_expert = 0;
  std::vector<std::int64_t> slowdown_permille;  // by worker; empty = 1000

  std::int64_t load(int worker, std::int64_t tiles, std::int64_t activated) const;
};

// The optimum lies in [lower, upper]; both are the same where CBC finished. `upper` is of a plan that was checked
// against the space in integers; it is -1 where none was found.
struct Optimum {
  std::int64_t lower = 0, upper = -1;
  bool within_ceiling = true;  // false: CBC says that no plan is within the ceiling
  bool known() const { return lower == upper; }
};

struct Effort {  // of CBC, whichever ends first; its own computing time
  int nodes = 20000;
  double seconds = 0.3;
};

// `ceiling` is a load that a plan is said to reach: it cuts the search short. Throws std::runtime_error for a solution
// that breaks a rule.
Optimum least_load(const Cbc& cbc, const PlanSpace& space, const Weights& weights, std::int64_t ceiling,
                   const Effort& effort);

}  // namespace afore::test
