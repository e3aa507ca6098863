#pragma once
// Latencies collected as (nanoseconds, how many had it), and what a summary says of them.
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/records.h"

namespace afore::pipeline {

class Latencies {
 public:
  // Equal neighbours share an entry: the tokens of one step mostly have one gap.
  void add(double ns, std::int64_t samples = 1) {
    if (!values_.empty() && values_.back().first == ns) values_.back().second += samples;
    else values_.emplace_back(ns, samples);
  }
  // Nearest rank; p99 stays null below 100 samples, where it would be noise.
  LatencySummary summary() const;

 private:
  std::vector<std::pair<double, std::int64_t>> values_;
};

// Of plans' wall-clock times in ns; nullopt when there are none.
std::optional<Summary::PlanTime> plan_time(std::vector<double> times_ns);

}  // namespace afore::pipeline
