#pragma once
// Step functions of latencies: which share of samples is at most so long.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/canvas.h"
#include "report/table.h"

namespace afore::report {

// (nanoseconds, how many samples had it), ascending and without repeats once sorted.
class Distribution {
 public:
  void add(std::int64_t ns, std::int64_t samples = 1) {
    if (samples <= 0) return;
    if (!values_.empty() && values_.back().first == ns) values_.back().second += samples;
    else values_.emplace_back(ns, samples);
  }
  bool empty() const { return values_.empty(); }
  void sort();  // before the functions below
  std::int64_t samples() const;
  const std::vector<std::pair<std::int64_t, std::int64_t>>& values() const { return values_; }
  // Nearest rank, as in docs/metrics.md; not empty.
  std::int64_t percentile(double q) const;

 private:
  std::vector<std::pair<std::int64_t, std::int64_t>> values_;
};

struct CdfSeries {
  std::string name;  // a policy; empty where there is one
  Distribution distribution;
};

struct CdfPanel {
  std::string metric;              // "TTFT"
  std::string meaning;             // "time to first token"
  std::vector<CdfSeries> series;   // sorted; empty distributions are left out
  std::optional<double> limit_ms;  // a line at what was promised, where it is near
};

// Panels below each other, each with its own time axis, logarithmic where p99 is over 20 times the median. At least one
// panel has samples; those without are named and left out.
Canvas cdfs(const std::vector<CdfPanel>& panels, const std::string& subtitle);
Table cdf_data(const std::vector<CdfPanel>& panels);     // metric, series, ms, share; 1,000 points of each at most
Table cdf_figures(const std::vector<CdfPanel>& panels);  // percentiles

}  // namespace afore::report
