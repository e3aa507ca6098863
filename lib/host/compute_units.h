#pragma once
// Where work of the pipeline computes, in virtual time. Disaggregated workers have a unit each, and an actor never asks
// for a second thing before its first is done: everything starts when it is ready. On a rank of expert parallelism
// attention and experts share a unit, which does one thing at a time, in the order in which things became ready; what
// is ready at once goes in the order of the events. Experts have their unit from then on, too, where they still wait
// for a copy: as in a stream of kernels, nothing overtakes them.
#include <cstdint>
#include <deque>
#include <vector>

#include "pipeline/messages.h"

namespace afore::host {

struct ComputeTask {
  enum class Kind : std::uint8_t { attention, sampling, experts };
  Kind kind = Kind::attention;
  int worker = 0;           // of attention or of the FFN, by kind
  pipeline::WorkItem item;  // of attention and sampling
  std::int64_t serial = 0;  // of the experts' target
};

class ComputeUnits {
 public:
  class Actions {
   public:
    virtual ~Actions() = default;
    virtual void start(const ComputeTask& task) = 0;  // the unit is the task's, until done()
  };

  // `ranks`: of which attention worker r and FFN worker r are one unit each; 0: every worker has its own.
  ComputeUnits(int ranks, Actions& actions) : actions_(actions), units_(ranks) {}

  void ready(const ComputeTask& task);
  // Rows are there, or the plan is: a target's experts are ready when both are. Targets come in one order on both ways.
  void rows_arrived(int worker, std::int64_t serial);
  void plan_taken(int worker, std::int64_t serial);
  void done(int worker);

 private:
  struct Unit {
    std::deque<ComputeTask> waiting;  // the first one runs
    std::deque<std::int64_t> rows;    // of targets without a plan here
    std::int64_t planned = -1;        // up to this target
  };

  Actions& actions_;
  std::vector<Unit> units_;
};

}  // namespace afore::host
