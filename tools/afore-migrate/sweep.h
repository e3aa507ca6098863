#pragma once
// What the benchmark and calibrate measure: flags in nccl-tests' spelling, and the run over paths and sizes.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "afore-migrate/device_flags.h"
#include "common/options.h"
#include "common/progress.h"
#include "device/copy_bench.h"

namespace afore::cli {

// So that the seed stands in JSON as it is.
inline constexpr std::int64_t kMaxSeed = std::int64_t{1} << 53;

struct SweepFlags {
  DeviceFlags device;
  std::string min_bytes = "1M", max_bytes = "64M";
  std::int64_t step_factor = 2, iters = 20, warmup_iters = 32, workers = 2, check = 1, seed = 0;
  std::string pattern = "pairs";
};

void add_sweep_flags(Command app, SweepFlags& flags);

// --pattern with --workers. Error{usage} for pairs of an odd number.
device::CopyPattern resolve_pattern(const std::string& pattern, std::int64_t workers);

struct Sweep {
  device::CopyBenchOptions options;
  std::int64_t min_bytes = 0, step_factor = 0;
  std::vector<std::int64_t> sizes;
  OpenDevice device;

  device::DeviceInfo info(device::CopyPath path) const { return device.transfers->info(path); }
  device::DeviceInfo info() const { return info(device.paths.front()); }
};

// Checks the flags against each other and against the memory there is. Error{usage}. `worker_threads`: for FFN.
Sweep resolve(const SweepFlags& flags, std::int64_t worker_threads = 1, std::int64_t tile_tokens = 0);

struct PathResult {
  device::CopyPath path = device::CopyPath::host;
  std::vector<device::CopyPoint> points;
  std::int64_t wrong = 0;  // bytes, all sizes
};
struct SweepResult {
  std::vector<PathResult> paths;  // those begun
  bool interrupted = false;

  std::int64_t wrong() const;
  std::size_t points() const;
};

struct SweepWatch {  // what is told meanwhile; none may be empty
  std::function<void(device::CopyPath)> begin;
  std::function<void(const device::CopyPoint&)> point;
  std::function<void(const PathResult&, bool interrupted)> end;
};

// Measures every size on every path, and shows progress: `output` says what standard output gets meanwhile. Signals
// and -T end it early, with what is measured so far.
SweepResult run_sweep(const Sweep& sweep, Progress::Output output, const SweepWatch& watch);

}  // namespace afore::cli
