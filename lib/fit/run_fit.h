#pragma once
// The cost model of a machine from a run that was recorded on it with its timeline: what attention, experts, sampling
// and copies took, and how long one worker's end is before the next one's beginning (docs/metrics.md, "calibration").
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/records.h"
#include "fit/group_fit.h"
#include "fit/relative_fit.h"

namespace afore::fit {

// By the smallest sum of relative errors, then scaled so that the times add up to what was measured.
struct FittedOperation {
  std::vector<Point> points;
  Model model;
  Errors errors;  // of the model on these points
};

struct RunFitResult {
  FittedOperation attention;  // 1, tokens, cached tokens read; of layers behind the first MoE layer
  FittedOperation first;      // 1, tokens: what a step's first attention takes beyond that (embedding, dense layers)
  FittedOperation sampling;   // 1, sequences
  FittedOperation ffn;        // 1, tiles, activated experts; of workers with work
  // Means in ns; absent where none was seen with an idle worker at its end.
  std::optional<double> to_ffn_ns;        // last gate of a target -> an FFN worker begins
  std::optional<double> to_attention_ns;  // last FFN worker done -> the microbatch's next attention begins
  std::optional<double> next_step_ns;     // sampled -> the microbatch's next step begins
  std::optional<double> copy_ns;          // median
  std::int64_t copies = 0, operations = 0;
};

// Reads the records of one run in stream order; operations of a step may come at any time behind its batches.
class RunFit {
 public:
  void on_header(const Header& header) { header_ = header; }
  void on_batch(const Batch& batch);
  void on_demand(const Demand& demand);
  void on_plan(const Plan& plan);
  void on_operation(const Operation& operation) { operations_.push_back(operation); }

  // Error{data} when there are too few operations to fit.
  RunFitResult result() const;

 private:
  struct Work {  // of a target
    std::int64_t tokens = 0;
    std::vector<std::int64_t> tiles, activated;  // by FFN worker
  };
  struct Share {  // of a batch on one attention worker
    double tokens = 0, kv_tokens = 0, sequences = 0;
  };
  Share share(const Batch& batch, std::int64_t tokens, std::size_t worker) const;
  void add_points(const Operation& operation, RunFitResult& result) const;
  void add_hops(RunFitResult& result) const;

  Header header_;
  std::map<std::pair<std::int64_t, int>, Batch> batches_;  // by step and microbatch
  std::map<Target, Work> work_;
  std::vector<Operation> operations_;
};

// What the result says of `base`, which has the rest.
HardwareProfile calibrated(HardwareProfile base, const RunFitResult& result, const Header& header,
                           std::optional<double> plan_ns);

}  // namespace afore::fit
