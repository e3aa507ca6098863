#include "pipeline/plan_ring.h"

#include <algorithm>

#include "util/error.h"

namespace afore::pipeline {

std::int64_t PlanRing::slowest() const {
  if (published_ - slowest_ >= static_cast<std::int64_t>(slots_.size()))
    slowest_ = *std::min_element(taken_.begin(), taken_.end());
  return slowest_;
}

void PlanRing::publish(PlanPtr plan) {
  AFORE_CHECK(!full(), "the plan ring is full");
  slots_[published_ % static_cast<std::int64_t>(slots_.size())] = std::move(plan);
  ++published_;
}

PlanPtr PlanRing::take(int reader) {
  if (taken_[reader] >= published_) return nullptr;
  return slots_[taken_[reader]++ % static_cast<std::int64_t>(slots_.size())];
}

void PlanRing::clear() {
  for (std::int64_t& taken : taken_)
    if (taken != kLost) taken = published_;
}

void PlanRing::lose(int reader) { taken_[reader] = kLost; }

}  // namespace afore::pipeline
