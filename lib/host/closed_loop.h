#pragma once
// Serving on the simulator: requests arrive at their own times, batches are composed from what has happened, so the
// load reacts to the speed of the pipeline. ServingLoop says what each step computes; this counts the step's demand
// from recorded routing, and lets SimHost plan and time it. Holds the sequences of open requests and the targets in
// flight.
#include <functional>
#include <memory>
#include <optional>

#include "host/serving_loop.h"
#include "host/sim_host.h"
#include "util/stop_flag.h"

namespace afore::host {

struct ClosedLoopOptions {
  SimOptions sim;  // model.experts, top_k and moe_layers present
  pipeline::PlannerOptions planner;
  batch::ServingOptions serving;  // its microbatches and attention workers are those of sim.cluster
  pipeline::ServiceObjectives objectives;
  std::optional<Nanos> end_ns;  // the run ends there, whoever is still queued or running
};

// In the order of the output stream. Every function may be empty.
struct ClosedLoopSink {
  // A target with its plan; `batch` where it begins a microbatch's step.
  std::function<void(const Batch* batch, const Demand&, const pipeline::PlannedTarget&)> planned;
  // The same target anew: its plan was void after a worker was lost.
  std::function<void(const pipeline::PlannedTarget&)> replanned;
  std::function<void(const Membership&)> membership;
  std::function<void(const Observed&)> observed;
  std::function<void(const Operation&)> operation;
  std::function<void(const Completion&)> completion;
};

class ClosedLoop {
 public:
  ClosedLoop(const ClosedLoopOptions& options, ClosedLoopSink sink);
  ~ClosedLoop();

  // Requests have their sequence. To the last request's end; with `*stop` set in between (by a signal) it takes no
  // further steps, and says true.
  bool run(RequestSource& source, const StopFlag* stop);
  Summary summary() const;  // without producer

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace afore::host
