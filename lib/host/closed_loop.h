#pragma once
// Serving on the simulator: requests arrive at their own times, batches are composed from what has happened, so the
// load reacts to the speed of the pipeline. Composes a microbatch's next step when its last one is sampled, counts the
// step's demand from recorded routing, and lets SimHost plan and time it. Holds the sequences of open requests, one
// request ahead, and the targets in flight; nothing grows with the run but the latency samples.
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "batch/serving.h"
#include "host/sim_host.h"
#include "pipeline/request_metrics.h"

namespace afore::host {

struct ClosedLoopOptions {
  SimOptions sim;  // model.experts, top_k and moe_layers present
  pipeline::PlannerOptions planner;
  batch::ServingOptions serving;  // its microbatches and attention workers are those of sim.cluster
  pipeline::ServiceObjectives objectives;
  std::optional<Nanos> end_ns;  // the run ends there, whoever is still queued or running
};

struct IncomingRequest {
  RequestRecord record;
  std::shared_ptr<const SequenceRecord> sequence;
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
  // The next request, in order of arrival; false: there is none. Asked for one only when time has reached the one
  // before it.
  using NextRequest = std::function<bool(IncomingRequest&)>;

  ClosedLoop(const ClosedLoopOptions& options, ClosedLoopSink sink);
  ~ClosedLoop();

  // To the last request's end. With `*stop` set in between (by a signal) it takes no further steps, and says true.
  bool run(const NextRequest& next, const volatile int* stop);
  Summary summary() const;  // without producer

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace afore::host
