#include "host/compute_units.h"

#include "util/error.h"

namespace afore::host {

void ComputeUnits::ready(const ComputeTask& task) {
  if (units_.empty()) return actions_.start(task);
  std::deque<ComputeTask>& waiting = units_[task.worker].waiting;
  waiting.push_back(task);
  if (waiting.size() == 1) actions_.start(task);
}

void ComputeUnits::rows_arrived(int worker, std::int64_t serial) {
  const ComputeTask experts{ComputeTask::Kind::experts, worker, {}, serial};
  if (units_.empty() || units_[worker].planned >= serial) return ready(experts);
  units_[worker].rows.push_back(serial);
}

void ComputeUnits::plan_taken(int worker, std::int64_t serial) {
  if (units_.empty()) return;
  Unit& unit = units_[worker];
  unit.planned = serial;
  while (!unit.rows.empty() && unit.rows.front() <= serial) {
    const std::int64_t arrived = unit.rows.front();
    unit.rows.pop_front();
    ready({ComputeTask::Kind::experts, worker, {}, arrived});
  }
}

void ComputeUnits::done(int worker) {
  if (units_.empty()) return;
  std::deque<ComputeTask>& waiting = units_[worker].waiting;
  AFORE_CHECK(!waiting.empty(), "a unit is done that had nothing to do");
  waiting.pop_front();
  if (!waiting.empty()) actions_.start(ComputeTask(waiting.front()));
}

}  // namespace afore::host
