#pragma once
// Runs the four actors on a virtual clock, over a device that takes the cost model's time. Push targets in stream
// order; time advances only as far as the targets pushed so far decide it, so the output for a prefix of a stream is a
// prefix of the output. One thread, deterministic.
#include <functional>
#include <memory>

#include "core/records.h"
#include "pipeline/plan_source.h"
#include "pipeline/run_metrics.h"

namespace afore::host {

struct SimOptions {
  ModelSpec model;
  ClusterSpec cluster;  // all fields present
  LayerCost layer_cost;
  PipelineCost pipeline_cost;
  bool overlap = true;
  std::int64_t kv_tokens = 1024;  // per token, for streams without batch records
};

struct SimSink {
  std::function<void(const Observed&)> observed;
  std::function<void(const Operation&)> operation;  // empty: no timeline
};

class SimHost {
 public:
  // `plans` is asked in stream order; it must outlive the host.
  SimHost(const SimOptions& options, pipeline::PlanSource& plans, SimSink sink);
  ~SimHost();

  // `yard`: the ends of the scale for this target (pipeline::Yardstick), for gain_captured.
  void push(const Demand& demand, const Batch* batch, const pipeline::YardTimes& yard);
  void finish();  // no more targets: runs everything to its end

  const pipeline::RunMetrics& metrics() const;
  Summary summary() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace afore::host
