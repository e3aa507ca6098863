#include "pipeline/latency.h"

#include <algorithm>
#include <cmath>

#include "util/stats.h"

namespace afore::pipeline {

LatencySummary Latencies::summary() const {
  LatencySummary summary;
  double sum = 0;
  for (const auto& [ns, samples] : values_) {
    summary.n += samples;
    sum += ns * static_cast<double>(samples);
  }
  if (summary.n == 0) return summary;
  const auto n = static_cast<double>(summary.n);
  const double mean = sum / n;
  double squares = 0;
  for (const auto& [ns, samples] : values_) squares += (ns - mean) * (ns - mean) * static_cast<double>(samples);
  std::vector<std::pair<double, std::int64_t>> sorted = values_;
  std::sort(sorted.begin(), sorted.end());
  const auto rank = [&](double q) {
    std::int64_t left = static_cast<std::int64_t>(q * n + 0.999999);
    for (const auto& [ns, samples] : sorted)
      if ((left -= samples) <= 0) return ns / 1e6;
    return sorted.back().first / 1e6;
  };
  summary.mean = mean / 1e6;
  summary.std = std::sqrt(squares / n) / 1e6;
  summary.median = rank(0.5);
  summary.p95 = rank(0.95);
  if (summary.n >= 100) summary.p99 = rank(0.99);
  return summary;
}

std::optional<Summary::PlanTime> plan_time(std::vector<double> times_ns) {
  if (times_ns.empty()) return std::nullopt;
  Summary::PlanTime time;
  for (const double ns : times_ns) time.mean += ns / static_cast<double>(times_ns.size());
  time.p50 = *quantile(times_ns, 0.5);
  time.p99 = *quantile(times_ns, 0.99);
  return time;
}

}  // namespace afore::pipeline
