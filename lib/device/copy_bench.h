#pragma once
// Times copies of experts between the arenas of workers, as nccl-tests time collectives.
#include <cstdint>
#include <optional>
#include <vector>

#include "device/transfers.h"

namespace afore::device {

enum class CopyPattern {
  pairs,   // workers 0->1, 2->3, ... at once
  fanout,  // worker 0 to each other worker in turn: all through one out port
};
// Workers: even for pairs, at least 2.
std::vector<CopyPort> copy_ports(CopyPattern pattern, int workers);

struct CopyBenchOptions {
  int workers = 2;
  CopyPattern pattern = CopyPattern::pairs;
  std::int64_t max_bytes = 0;  // the largest copy
  int iters = 20;
  int warmup_iters = 32;
  bool check = true;
  std::uint64_t seed = 0;
};

// One size. An iteration's time is that of its slowest port; percentiles are over iterations.
struct CopyPoint {
  std::int64_t size_bytes = 0;
  std::int64_t copies = 0;       // per iteration, through one out port
  std::vector<double> times_us;  // per iteration
  double min_us = 0, max_us = 0, avg_us = 0, p50_us = 0, p95_us = 0, p99_us = 0, stdev_us = 0, cv_pct = 0;
  double algbw_gbps = 0;              // size / avg, 10^9 bytes per second, as nccl-tests print it
  double busbw_gbps = 0;              // algbw * copies: what one out port carries
  std::optional<std::int64_t> wrong;  // bytes; absent without check
};

// Memory of one worker: two of the largest slots, and up to 64 MiB so that rounds do not copy what a cache holds.
std::int64_t arena_bytes(const CopyBenchOptions& options, const Transfers& transfers);

class CopyBench {
 public:
  // Over `transfers`, whose arenas have arena_bytes(options).
  CopyBench(Transfers& transfers, const CopyBenchOptions& options);

  // Fills, warms up, times and (by option) verifies. nullopt when the transfers were stopped.
  std::optional<CopyPoint> run(std::int64_t size_bytes);

  // Bytes in the receivers' slots that are not what the last run's sources hold.
  std::int64_t count_wrong_bytes() const;

 private:
  void fill();
  void clear_receivers();

  Transfers& transfers_;
  CopyBenchOptions options_;
  std::vector<CopyPort> ports_;
  std::int64_t used_slots_ = 0;     // slots that any round touches
  std::int64_t checked_slots_ = 0;  // slots that a timed round wrote
  std::int64_t first_timed_ = 0;
};

// min, min*factor, ... up to max. factor >= 2.
std::vector<std::int64_t> sweep_sizes(std::int64_t min_bytes, std::int64_t max_bytes, std::int64_t factor);

}  // namespace afore::device
