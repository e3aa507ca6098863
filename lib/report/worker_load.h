#pragma once
// What each FFN worker had to do, on the initial placement and as planned.
#include <cstdint>
#include <string>
#include <vector>

#include "report/canvas.h"
#include "report/table.h"

namespace afore::report {

struct WorkerLoad {
  std::string unit;                         // "tiles", "assignments"
  std::vector<std::int64_t> before, after;  // by worker, summed over targets; `after` empty: nothing was planned
  // Means over targets of max / mean over workers: sums over many targets hide what single ones wait for.
  double target_imbalance_before = 0, target_imbalance_after = 0;
};

double max_over_mean(const std::vector<std::int64_t>& loads);  // 0 without any load

// Paired bars; outlines where there are more workers than bars fit. `load.before` is not empty.
Canvas worker_load(const WorkerLoad& load, const std::string& subtitle);
Table worker_load_data(const WorkerLoad& load);
Table worker_load_figures(const WorkerLoad& load);

}  // namespace afore::report
