#pragma once
// What can be proved about the largest load of one target, before any plan is made: lower bounds that hold for every
// plan within the stated limits (standing replicas, open slots, copy budget). Whatever a plan claims must lie within.
// Sizes are tiles (n_e) or times (p_e = c1*n_e + c2); an expert whose holders all lie in a set of workers is confined
// to it, and one copy unconfines at most one expert.
#include <cstdint>
#include <vector>

#include "verify/state.h"

namespace afore::verify {

class Bounds {
 public:
  // `copy_budget` 0 = without copies. Times are without c0. `holders` and `open_slots` as in Standing.
  Bounds(const Counts& sizes, const std::vector<std::vector<int>>& holders, const Counts& open_slots,
         std::int64_t copy_budget);

  // The work confined to the workers flagged in `set`, less the largest pieces copies could take out, per worker.
  std::int64_t cut(const std::vector<std::uint8_t>& set) const;
  void consider(std::int64_t bound) { simple_ = simple_ < bound ? bound : simple_; }

  // True: no plan within the limits has a largest load of `load` or less.
  bool refutes(std::int64_t load) const { return load < simple_ || needs_too_many_copies(load); }
  // For times only: also counts that an expert too large for any worker's room is split, and pays c2 per part.
  bool refutes_time(Nanos time, const Counts& tiles, Nanos c1_ns, Nanos c2_ns) const;

 private:
  std::int64_t copies_out_of(std::int64_t open_inside) const;
  std::int64_t prefixes(const std::vector<int>& order) const;
  std::int64_t hot_sets() const;
  bool needs_too_many_copies(std::int64_t load) const;
  std::int64_t pinned_without(int worker, std::int64_t size) const;

  const Counts& sizes_;
  const std::vector<std::vector<int>>& holders_;
  const Counts& open_slots_;
  std::int64_t budget_, total_open_ = 0;
  // The volume bound, hot sets, and cuts of single workers and of prefixes by confined load; and what was considered.
  std::int64_t simple_ = 0;
  int workers_;
  std::vector<std::vector<int>> experts_of_;  // with work, by worker
  std::vector<Counts> pinned_;                // sizes confined to one worker, largest first
  Counts pinned_sum_;
};

}  // namespace afore::verify
