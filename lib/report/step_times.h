#pragma once
// Latencies from the ends of steps, where a stream has them: ITL and TPOT as docs/metrics.md defines them, of streams
// of targets (steps, weighted by their output tokens) and of served requests (gaps between two tokens).
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/records.h"
#include "report/cdf.h"

namespace afore::report {

// A step of a microbatch ends when its last attention worker has sampled. The records of a step may come in any order,
// those of later steps after them; at most a few steps of each microbatch are held, and the open requests.
class StepTimes {
 public:
  void serves_requests() { serves_requests_ = true; }  // then completions have their own TPOT
  void add(const Batch& batch);
  void add(const Demand& demand);
  void add_sampling(std::int64_t step, int microbatch, Nanos end_ns);
  void finish();

  Distribution itl, tpot, step_length;  // of measured steps; tpot of requests admitted in them, step of microbatches

 private:
  struct Step {
    bool known = false, warmup = false;
    std::int64_t tokens = 0, prefill_tokens = 0, sampled = kAbsent;
    bool has_batch = false;
    std::vector<std::string> admitted, finished;
    Nanos end_ns = -1;
  };
  struct Microbatch {
    std::map<std::int64_t, Step> steps;
    Nanos last_end_ns = -1;
  };
  struct Request {
    std::int64_t step = 0;
    Nanos first_token_ns = 0;
  };
  void settle(Microbatch& microbatch, std::int64_t before);
  void close(Microbatch& microbatch, std::int64_t number, const Step& done);

  bool serves_requests_ = false;
  std::map<int, Microbatch> microbatches_;
  std::map<std::string, Request> open_;
};

}  // namespace afore::report
