#pragma once
// What a serving loop tells of its requests and steps as they happen, for counters that are read while it runs and for
// sources that bound how many requests wait. Called by the loop's thread, so nothing here may block.
#include <cstdint>
#include <span>
#include <string>

#include "core/records.h"
#include "pipeline/request_metrics.h"

namespace afore::host {

// At one moment between steps.
struct ServingLoad {
  std::int64_t queued = 0, running = 0;            // requests that the loop has
  std::span<const std::int64_t> kv_blocks_used{};  // reserved, by attention worker
  std::int64_t kv_blocks = 0;                      // of each attention worker
};

// Of one microbatch.
struct StepTokens {
  std::int64_t prefill = 0, decode = 0;  // computed
  std::int64_t sequences = 0;
};

class ServingObserver {
 public:
  virtual ~ServingObserver() = default;

  // A request's first step begins, so long after its arrival.
  virtual void on_admitted(const std::string& /*id*/, Nanos /*queue_ns*/) {}
  // It sampled a token. `since_ns`: since its arrival for the first, since its last token for a further one.
  virtual void on_token(const std::string& /*id*/, bool /*first*/, Nanos /*since_ns*/) {}
  // It ended: complete, rejected, timed out or cancelled (a completion that nobody else is told). kNoTime stands in
  // `times` where it never came so far.
  virtual void on_closed(const Completion& /*completion*/, const pipeline::RequestTimes& /*times*/) {}

  virtual void on_step(const StepTokens& /*tokens*/) {}  // its tokens are sampled
  virtual void on_load(const ServingLoad& /*load*/) {}   // once in every turn of the loop, idle ones too
};

}  // namespace afore::host
