#include "pipeline/latency.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "util/fmath.h"

namespace afore::pipeline {
namespace {

using Entries = std::vector<std::pair<double, std::int64_t>>;

// Nearest rank of sorted entries.
double quantile_of(const Entries& sorted, double q) {
  std::int64_t n = 0;
  for (const auto& [ns, samples] : sorted) n += samples;
  std::int64_t left = static_cast<std::int64_t>(q * static_cast<double>(n) + 0.999999);
  for (const auto& [ns, samples] : sorted)
    if ((left -= samples) <= 0) return ns;
  return sorted.back().first;
}

Entries in_order(Entries values) {
  std::sort(values.begin(), values.end());
  return values;
}

}  // namespace

Latencies::Latencies(std::optional<std::size_t> sample) : most_(sample.value_or(kMost)) {
  if (!sample) return;
  sample_.emplace(Sample{});  // clang 14 does not find the constructor without it
  values_.resize(most_);
  values_.clear();
}

void Latencies::Moments::add(double ns, std::int64_t samples) {
  n += samples;
  const double before = ns - mean;
  mean += before * static_cast<double>(samples) / static_cast<double>(n);
  squares += before * (ns - mean) * static_cast<double>(samples);
}

void Latencies::keep(double ns, std::int64_t samples) {
  if (values_.size() < most_) {
    values_.emplace_back(ns, samples);
    return;
  }
  sample_.emplace(Sample{});  // clang 14 does not find the constructor without it
  const Entries all = std::exchange(values_, {});
  values_.reserve(most_);
  for (const auto& [value_ns, value_samples] : all) draw(value_ns, value_samples);
  draw(ns, samples);
}

void Latencies::draw(double ns, std::int64_t samples) {
  std::int64_t index = sample_->all.n;
  sample_->all.add(ns, samples);
  while (values_.size() < most_ && index < sample_->all.n) {
    values_.emplace_back(ns, 1);
    sample_->next = index++;
    if (values_.size() == most_) skip();
  }
  while (values_.size() == most_ && sample_->next < sample_->all.n) {
    values_[sample_->rng.below(most_)].first = ns;
    skip();
  }
}

void Latencies::skip() {
  const auto log_of_draw = [this] { return fmath::log(1 - sample_->rng.uniform()); };
  sample_->largest_key *= fmath::exp(log_of_draw() / static_cast<double>(most_));
  const double passed = std::floor(log_of_draw() / fmath::log1p(-sample_->largest_key));
  sample_->next += 1 + static_cast<std::int64_t>(std::min(passed, 1e18));
}

Latencies::Moments Latencies::moments() const {
  if (sample_) return sample_->all;
  Moments all;
  double sum = 0;
  for (const auto& [ns, samples] : values_) {
    all.n += samples;
    sum += ns * static_cast<double>(samples);
  }
  if (all.n > 0) all.mean = sum / static_cast<double>(all.n);
  for (const auto& [ns, samples] : values_)
    all.squares += (ns - all.mean) * (ns - all.mean) * static_cast<double>(samples);
  return all;
}

LatencySummary Latencies::summary() const {
  LatencySummary summary;
  const Moments all = moments();
  summary.n = all.n;
  if (all.n == 0) return summary;
  const Entries sorted = in_order(values_);
  summary.mean = all.mean / 1e6;
  summary.std = std::sqrt(all.squares / static_cast<double>(all.n)) / 1e6;
  summary.median = quantile_of(sorted, 0.5) / 1e6;
  summary.p95 = quantile_of(sorted, 0.95) / 1e6;
  if (all.n >= 100) summary.p99 = quantile_of(sorted, 0.99) / 1e6;
  return summary;
}

std::optional<Summary::PlanTime> Latencies::plan_time() const {
  if (values_.empty()) return std::nullopt;
  const Entries sorted = in_order(values_);
  return Summary::PlanTime{moments().mean, quantile_of(sorted, 0.5), quantile_of(sorted, 0.99)};
}

}  // namespace afore::pipeline
