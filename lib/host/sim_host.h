#pragma once
// Runs the four actors on a virtual clock, over a device that takes the cost model's time. Push targets in stream
// order; time advances only as far as the targets pushed so far decide it, so the output for a prefix of a stream is a
// prefix of the output. One thread, deterministic.
#include <functional>
#include <memory>

#include "core/records.h"
#include "host/faults.h"
#include "pipeline/plan_source.h"
#include "pipeline/run_metrics.h"

namespace afore::host {

// Attention and experts on two pools of workers, or on the same ranks (expert parallelism): as many attention as FFN
// workers, two of which share a device (host/compute_units.h).
enum class Topology { afd, colocated };
// Between pools: rows go where a plan has work for them, or every row to all FFN workers.
enum class Dispatch { routed, broadcast };

struct SimOptions {
  Topology topology = Topology::afd;
  Dispatch dispatch = Dispatch::routed;
  ModelSpec model;
  ClusterSpec cluster;  // all fields present
  LayerCost layer_cost;
  PipelineCost pipeline_cost;
  bool overlap = true;
  std::int64_t kv_tokens = 1024;  // per token, for streams without batch records
  // Copies travel on the links of the hidden states, in chunks of this size; kAbsent: on links of their own.
  std::int64_t shared_chunk_bytes = kAbsent;
  std::vector<Fault> faults;  // checked by check_faults(); afd only
  std::uint64_t fault_seed = 0;
  Nanos reload_ns = 0;  // reading one expert from its source, after its last replica was lost
};

struct SimSink {
  std::function<void(const Observed&)> observed;
  std::function<void(const Operation&)> operation;  // empty: no timeline
  std::function<void(const Membership&)> membership{};
  std::function<void(std::int64_t step, int microbatch)> step_done{};  // its tokens are sampled, at now()
};

class SimHost {
 public:
  // `plans` is asked in stream order; it must outlive the host.
  SimHost(const SimOptions& options, pipeline::PlanSource& plans, SimSink sink);
  ~SimHost();

  // `yard`: the ends of the scale for this target (pipeline::Yardstick), for gain_captured.
  void push(const Demand& demand, const Batch* batch, const pipeline::YardTimes& yard);
  void finish();  // no more targets: runs everything to its end

  // The same in small steps, for callers that make targets from what has happened (closed loop). They end every step of
  // a microbatch themselves, and call finish() at the end like everybody.
  void enqueue(const Demand& demand, const Batch* batch, const pipeline::YardTimes& yard);  // push() without running
  void end_step(int microbatch);                                                            // -> SimSink::step_done
  void wake_at(Nanos at_ns);  // time will stop there, not before now()
  bool advance();             // to the next event and through it; false when there is none
  Nanos now() const;
  int epoch() const;         // how often workers were lost
  Nanos copying_ns() const;  // of the time so far, with a copy under way

  const pipeline::RunMetrics& metrics() const;
  Summary summary() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace afore::host
