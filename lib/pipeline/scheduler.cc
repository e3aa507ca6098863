#include "pipeline/scheduler.h"

#include <algorithm>

#include "util/error.h"

namespace afore::pipeline {

void Scheduler::on_target(const Target& target, Phase phase, std::int64_t tokens, int experts) {
  Pending& pending = pending_.emplace_back();
  pending.demand.target = target;
  pending.demand.phase = phase;
  pending.demand.tokens = tokens;
  pending.demand.counts.assign(experts, 0);
  pending.from.assign(sources_, false);
}

void Scheduler::on_demand(int source, const Target& target, std::span<const std::int64_t> counts) {
  for (Pending& pending : pending_) {
    if (pending.demand.target != target) continue;
    AFORE_CHECK(!pending.from[source], "a demand part arrived twice");
    pending.from[source] = true;
    pending.arrived += 1;
    for (std::size_t e = 0; e < counts.size(); ++e) pending.demand.counts[e] += counts[e];
    start_next();
    return;
  }
  AFORE_CHECK(false, "demand for a target that was not announced");
}

void Scheduler::start_next() {
  if (planning_ || pending_.empty() || pending_.front().arrived < sources_) return;
  planning_ = true;
  actions_.start_planning(pending_.front().demand);
}

void Scheduler::on_planned(const Target& target) {
  AFORE_CHECK(planning_ && pending_.front().demand.target == target, "a plan for a target that was not asked for");
  if (!actions_.publish(target)) {
    waiting_for_ring_ = true;
    return;
  }
  waiting_for_ring_ = false;
  planning_ = false;
  pending_.pop_front();
  start_next();
}

void Scheduler::on_epoch(std::span<const Demand> redo) {
  for (std::size_t i = redo.size(); i-- > 0;)
    pending_.push_front({redo[i], sources_, std::vector<bool>(sources_, true)});
  planning_ = waiting_for_ring_ = false;
  start_next();
}

std::int64_t Scheduler::waiting() const {
  return std::count_if(pending_.begin(), pending_.end(),
                       [this](const Pending& pending) { return pending.arrived == sources_; });
}

void Scheduler::on_ring_free() {
  if (waiting_for_ring_) on_planned(pending_.front().demand.target);
}

}  // namespace afore::pipeline
