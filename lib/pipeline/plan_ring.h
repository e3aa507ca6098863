#pragma once
// The contract of the plan ring: one producer, every FFN worker reads every plan, a slot is reused only after all of
// them have taken what was in it. Bounded: a full ring makes the scheduler wait. This form serves hosts that run in
// one thread; a host with threads or processes keeps the contract over shared memory.
#include <cstdint>
#include <limits>
#include <vector>

#include "pipeline/messages.h"

namespace afore::pipeline {

class PlanRing {
 public:
  PlanRing(int capacity, int readers) : slots_(capacity), taken_(readers, 0) {}

  bool full() const { return published_ - slowest() >= static_cast<std::int64_t>(slots_.size()); }
  void publish(PlanPtr plan);  // not when full
  PlanPtr take(int reader);    // the reader's next plan; nullptr when it has taken all
  // A new epoch: what was published and not taken is void, and a lost reader is waited for no longer.
  void clear();
  void lose(int reader);

 private:
  std::int64_t slowest() const;

  std::vector<PlanPtr> slots_;
  static constexpr std::int64_t kLost = std::numeric_limits<std::int64_t>::max();

  std::vector<std::int64_t> taken_;  // plans taken, by reader; kLost = none will be
  std::int64_t published_ = 0;
  mutable std::int64_t slowest_ = 0;  // lower bound, advanced when the ring looks full
};

}  // namespace afore::pipeline
