#pragma once
// Imbalance and moved experts, step by step, in two lanes above each other.
#include <cstdint>
#include <string>
#include <vector>

#include "report/canvas.h"
#include "report/table.h"

namespace afore::report {

struct StepSums {
  std::int64_t step = 0;
  double imbalance = 0;      // sum over targets of max / mean over workers
  std::int64_t targets = 0;  // with any load
  std::int64_t copies = 0;
};

struct OverTimeSeries {
  std::string name;
  std::vector<StepSums> steps;  // ascending
  bool planned = true;          // false: no plans, nothing for the lower lane
};

struct OverTime {
  std::string unit;                    // of loads: "tiles", "assignments"
  std::int64_t expert_bytes = 0;       // 0 = unknown: the lower lane counts experts
  bool cumulative = false;             // the lower lane adds up, for more than one planned series
  std::vector<OverTimeSeries> series;  // at least one with a step
};

// Steps are joined into at most 360 buckets, by the mean; of copies per step that is the mean too.
Canvas over_time(const OverTime& data, const std::string& subtitle);
Table over_time_data(const OverTime& data);  // series, step, imbalance, copies, bytes
Table over_time_figures(const OverTime& data);

}  // namespace afore::report
