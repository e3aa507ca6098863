#pragma once
// What the benchmark and calibrate measure: flags in nccl-tests' spelling, and the run over sizes.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/progress.h"
#include "migrate/copy_bench.h"

namespace afore::cli {

struct SweepFlags {
  std::string min_bytes = "1M", max_bytes = "64M";
  std::int64_t step_factor = 2, iters = 20, warmup_iters = 32, workers = 2, check = 1, seed = 0;
  std::string pattern = "pairs";
};

void add_sweep_flags(CLI::App& app, SweepFlags& flags);

struct Sweep {
  migrate::CopyBenchOptions options;
  std::int64_t min_bytes = 0, step_factor = 0;
  std::vector<std::int64_t> sizes;
};

// Checks the flags against each other and against the memory there is. Error{usage}
Sweep resolve(const SweepFlags& flags);

struct SweepResult {
  std::vector<migrate::CopyPoint> points;
  std::int64_t wrong = 0;  // bytes, all sizes
  bool interrupted = false;
};

// Measures every size, calling `on_point` after each, and shows progress: `output` says what standard output gets
// meanwhile. SIGINT and SIGTERM end it early, with what is measured so far.
SweepResult run_sweep(const Sweep& sweep, Progress::Output output,
                      const std::function<void(const migrate::CopyPoint&)>& on_point);

}  // namespace afore::cli
