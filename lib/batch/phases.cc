#include "batch/phases.h"

#include <algorithm>

#include "util/error.h"

namespace afore::batch {

PhaseSchedule::PhaseSchedule(std::vector<WorkPhase> phases, std::int64_t warmup_steps, std::int64_t total_steps)
    : phases_(std::move(phases)), warmup_steps_(warmup_steps), total_steps_(total_steps) {
  AFORE_CHECK(!phases_.empty(), "a schedule without phases");
  for (const WorkPhase& phase : phases_) {
    AFORE_CHECK(phase.steps > 0 && !phase.pools.empty(), "an empty phase");
    cycle_steps_ += phase.steps;
  }
}

int PhaseSchedule::pool_count() const {
  int count = 0;
  for (const WorkPhase& phase : phases_)
    for (const int pool : phase.pools) count = std::max(count, pool + 1);
  return count;
}

std::size_t PhaseSchedule::index_at(std::int64_t step) const {
  if (step < warmup_steps_) return 0;
  std::int64_t left = (step - warmup_steps_) % cycle_steps_;
  std::size_t index = 0;
  while (left >= phases_[index].steps) left -= phases_[index++].steps;
  return index;
}

}  // namespace afore::batch
