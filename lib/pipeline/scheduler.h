#pragma once
// Adds up a target's demand as the attention workers' parts arrive, plans targets in stream order, publishes each plan
// once. One target at a time: planning takes time, modelled or real.
#include <deque>
#include <map>

#include "pipeline/messages.h"

namespace afore::pipeline {

class Scheduler {
 public:
  class Actions {
   public:
    virtual ~Actions() = default;
    // The plan for a target whose demand is whole; the host charges the time and answers with on_planned.
    virtual void start_planning(const Demand& demand) = 0;
    virtual bool publish(const Target& target) = 0;  // false: the ring is full, on_ring_free will follow
  };

  Scheduler(int attention_workers, Actions& actions) : sources_(attention_workers), actions_(actions) {}

  // The Coordinator announces targets in stream order: the order of planning.
  void on_target(const Target& target, Phase phase, std::int64_t tokens, int experts);
  void on_demand(int source, const Target& target, std::span<const std::int64_t> counts);
  void on_planned(const Target& target);
  void on_ring_free();
  // A new epoch (a worker was lost): no plan made so far holds. `redo` are the demands of the targets whose plans were
  // published and whose outputs are not back, in stream order; they are planned again, before all others.
  void on_epoch(std::span<const Demand> redo);
  std::int64_t waiting() const;  // targets whose demand is whole and whose plan is not published

 private:
  struct Pending {
    Demand demand;
    int arrived = 0;
    std::vector<bool> from;
  };
  void start_next();

  int sources_;
  Actions& actions_;
  std::deque<Pending> pending_;  // in stream order; bounded by the Coordinator
  bool planning_ = false;
  bool waiting_for_ring_ = false;
};

}  // namespace afore::pipeline
