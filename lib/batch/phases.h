#pragma once
// Which domains the requests come from, step by step.
#include <cstdint>
#include <vector>

namespace afore::batch {

struct WorkPhase {
  std::vector<int> pools;  // not empty; several share the live requests evenly
  std::int64_t steps = 0;  // > 0
};

// Warm-up steps first, with the first phase's pools; then the phases in order, over and over, to the end of the
// workload after `total_steps` (warm-up included).
class PhaseSchedule {
 public:
  PhaseSchedule(std::vector<WorkPhase> phases, std::int64_t warmup_steps, std::int64_t total_steps);

  const std::vector<int>& pools_at(std::int64_t step) const { return phases_[index_at(step)].pools; }
  // True when step - 1 drew from other pools. Nothing changes at the end: who is live then stays live.
  bool changes_at(std::int64_t step) const {
    return step > 0 && step < total_steps_ && pools_at(step) != pools_at(step - 1);
  }
  int pool_count() const;  // one more than the largest pool

 private:
  std::size_t index_at(std::int64_t step) const;

  std::vector<WorkPhase> phases_;
  std::int64_t warmup_steps_, total_steps_;
  std::int64_t cycle_steps_ = 0;
};

}  // namespace afore::batch
