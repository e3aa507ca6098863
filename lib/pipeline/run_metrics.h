#pragma once
// Everything a run is judged by, collected as targets and steps finish; formulas in docs/metrics.md. Warm-up targets
// are counted out.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/copy_clock.h"
#include "pipeline/latency.h"
#include "pipeline/messages.h"
#include "pipeline/yardstick.h"

namespace afore::pipeline {

class RunMetrics {
 public:
  // Requests that end before the token that was known to be their last are no part of the batches. Where there are
  // such, who serves them counts them (RequestMetrics), and here they are not remembered.
  enum class Requests { of_batches, counted_elsewhere };

  // `latency_sample`: as of Latencies.
  RunMetrics(const ClusterSpec& cluster, const LayerCost& cost, Requests requests = Requests::of_batches,
             std::optional<std::size_t> latency_sample = std::nullopt);

  // A target enters the pipeline. `batch`: its microbatch's requests in this step, where the stream has them.
  void on_target(const Demand& demand, const Batch* batch);
  void count_plan(const PublishedPlan& plan, const YardTimes& yard);  // when the target was executed
  // What a plan claims, where nothing runs (the stream host). Instead of on_times.
  void on_predicted(const Plan& plan);
  // One worker's times; returns true with `observed` filled when all `workers` have reported.
  bool on_times(const PublishedPlan& plan, int worker, const WorkerTimes& times, int workers, Observed& observed);
  void forget(const Target& target);                 // it runs again: what workers reported of it is void
  void on_outputs(Nanos now, const Target& target);  // all results of a target are back on the attention side
  void on_step_done(Nanos now, std::int64_t step, int microbatch);
  CopyClock& copies() { return copy_clock_; }  // told by the host of every copy's start and end

  Summary summary() const;  // without producer, host, device

  Nanos first_step_ns() const { return first_step_ns_; }  // of the run, from 0 to its last output; warm-up included

 private:
  struct Step {  // of one microbatch, in flight
    bool measured = false;
    bool has_batch = false;
    std::int64_t output_tokens = 0, input_tokens = 0;
    std::vector<std::string> admitted, finished;
  };
  struct Microbatch {
    Nanos last_done_ns = 0, copying_ns = 0;  // at that moment
    bool any_done = false;
    std::map<std::int64_t, Step> steps;
  };
  struct Request {
    Nanos first_token_ns = 0;
    std::int64_t first_step = 0;
  };
  struct Worst {  // the worker an observed record speaks of
    int reported = 0;
    int worker = -1;
    WorkerTimes times;
    Nanos ffn_ns = 0, smallest_window_ns = 0, slot_wait_ns = 0;
  };
  void count_requests(Nanos now, std::int64_t step, const Step& done);

  ClusterSpec cluster_;
  LayerCost cost_;
  Requests requests_;
  std::map<int, Microbatch> microbatches_;
  std::map<Target, Worst> worst_;
  std::map<std::string, Request> live_;

  // sums over measured targets
  std::int64_t targets_ = 0, certified_ = 0, bounded_ = 0, copies_ = 0, warmup_copies_ = 0, ahead_copies_ = 0,
               exposed_targets_ = 0, slot_waits_ = 0;
  double imbalance_tokens_ = 0, imbalance_tiles_ = 0, load_over_bound_ = 0, sum_mean_ = 0, sum_max_ = 0;
  Nanos ffn_ns_ = 0, plan_ffn_before_ns_ = 0, migration_ns_ = 0, window_ns_ = 0, exposed_ns_ = 0, slack_ns_ = 0;
  Nanos static_ns_ = 0, ideal_ns_ = 0;
  std::int64_t static_tiles_ = 0, ideal_tiles_ = 0, tiles_ = 0;  // sums of the largest tile load
  bool by_tiles_ = false;
  std::int64_t output_tokens_ = 0, input_tokens_ = 0, completed_ = 0;
  bool any_batch_ = false;
  std::int64_t steps_ = 0;
  Nanos step_ns_ = 0;
  Nanos measured_from_ns_ = -1, measured_to_ns_ = -1;
  std::int64_t first_step_ = 0;
  bool any_target_ = false;
  Nanos first_step_ns_ = 0;
  CopyClock copy_clock_;
  Nanos measured_copying_ns_ = 0;  // of the measured steps' time, all microbatches added up
  Latencies itl_, itl_during_, itl_outside_, tpot_;
  std::string policy_;
};

}  // namespace afore::pipeline
