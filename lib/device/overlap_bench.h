#pragma once
// Copies of experts beside expert FFN: what of them the FFN's time hides, measured.
#include <cstdint>
#include <vector>

#include "device/copy_bench.h"
#include "device/transfers.h"
#include "util/stop_flag.h"

namespace afore::device {

struct OverlapOptions {
  int workers = 2;
  CopyPattern pattern = CopyPattern::pairs;
  ExpertSizes sizes;
  int experts = 4;  // that each worker computes
  int copies = 1;   // experts that each receiver gets meanwhile
  int iters = 20;
  int warmup_iters = 3;
  std::uint64_t seed = 0;
};

struct Spread {  // us over the iterations
  double p50 = 0, p95 = 0;
};

// A window: the FFN of `tokens` tokens for each expert, and the copies that arrive within it. An iteration measures the
// copies alone, the FFN alone and both together; times are those of the slowest worker.
struct OverlapPoint {
  std::int64_t tokens = 0;
  Spread copy_us, ffn_us, ffn_beside_us, copy_beside_us;
  Spread exposed_us;        // over the receivers the largest max(0, end of the copies - end of the FFN), both beside
  double ffn_slowdown = 0;  // ffn_beside_us.p50 / ffn_us.p50
  double hidden_share = 0;  // 1 - exposed_us.p50 / copy_beside_us.p50, 0 at least
  std::int64_t wrong = 0;   // bytes at the receivers
  std::vector<double> exposed_times_us;  // per iteration
};

// Slots of a worker: its experts, and the copies that it receives.
std::int64_t overlap_slots(const OverlapOptions& options);
// Threads that run at the same time on the host: those that compute and those that copy.
int overlap_threads(const OverlapOptions& options, const Transfers& transfers);

class OverlapBench {
 public:
  // Over `transfers`, whose arenas hold overlap_slots(options) experts. `most_tokens`: of any window.
  OverlapBench(Transfers& transfers, const OverlapOptions& options, std::int64_t most_tokens);
  // nullopt when `stop` was set (may be null).
  std::optional<OverlapPoint> run(std::int64_t tokens, const StopFlag* stop);

 private:
  struct Series {
    std::vector<double> copy, ffn, ffn_beside, copy_beside, exposed;
  };
  void measure(const Mix& mix, Series& series);
  std::int64_t count_wrong_bytes() const;

  Transfers& transfers_;
  OverlapOptions options_;
  std::vector<CopyPort> ports_;
};

}  // namespace afore::device
