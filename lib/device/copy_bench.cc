#include "device/copy_bench.h"

#include <algorithm>
#include <cmath>

#include "util/error.h"
#include "util/stats.h"

namespace afore::device {

namespace {

// Rounds walk over this much of an arena where there are enough of them: more than most caches keep.
constexpr std::int64_t kColdBytes = 64 << 20;

void summarise(CopyPoint& point) {
  const auto n = static_cast<double>(point.times_us.size());
  double sum = 0, squares = 0;
  for (const double t : point.times_us) sum += t;
  point.avg_us = sum / n;
  for (const double t : point.times_us) squares += (t - point.avg_us) * (t - point.avg_us);
  point.stdev_us = std::sqrt(squares / n);
  point.cv_pct = point.avg_us > 0 ? 100 * point.stdev_us / point.avg_us : 0;
  std::vector<double> sorted = point.times_us;
  point.p50_us = quantile(sorted, 0.5).value();
  point.p95_us = quantile(sorted, 0.95).value();
  point.p99_us = quantile(sorted, 0.99).value();
  point.min_us = sorted.front();
  point.max_us = sorted.back();
  // A clock tick bounds the time of a tiny copy from below, so that the rate stays finite.
  const double us = std::max(point.avg_us, 1e-3);
  point.algbw_gbps = static_cast<double>(point.size_bytes) / us / 1e3;
  point.busbw_gbps = point.algbw_gbps * static_cast<double>(point.copies);
}

}  // namespace

std::vector<CopyPort> copy_ports(CopyPattern pattern, int workers) {
  AFORE_CHECK(workers >= 2 && (pattern != CopyPattern::pairs || workers % 2 == 0), "checked by the caller");
  std::vector<CopyPort> ports;
  if (pattern == CopyPattern::pairs) {
    for (int worker = 0; worker < workers; worker += 2) ports.push_back({worker, {worker + 1}});
  } else {
    ports.emplace_back();
    for (int worker = 1; worker < workers; ++worker) ports.front().to.push_back(worker);
  }
  return ports;
}

std::int64_t arena_bytes(const CopyBenchOptions& options, const Transfers& transfers) {
  const std::int64_t stride = transfers.stride_bytes(options.max_bytes);
  const std::int64_t rounds = std::int64_t{options.warmup_iters} + options.iters;
  const std::int64_t walked = stride > kColdBytes / rounds ? kColdBytes : rounds * stride;
  return std::max(2 * stride, walked);
}

CopyBench::CopyBench(Transfers& transfers, const CopyBenchOptions& options)
    : transfers_(transfers), options_(options), ports_(copy_ports(options.pattern, options.workers)) {
  AFORE_CHECK(options.iters >= 1 && options.warmup_iters >= 0, "checked by the caller");
}

void CopyBench::fill() {
  for (const CopyPort& port : ports_)
    for (std::int64_t slot = 0; slot < used_slots_; ++slot)
      transfers_.fill(port.from, slot, options_.seed, PatternKind::bytes);
}

// So that a copy that did not happen is seen.
void CopyBench::clear_receivers() {
  for (const CopyPort& port : ports_)
    for (const int to : port.to)
      for (std::int64_t slot = 0; slot < used_slots_; ++slot) transfers_.clear(to, slot);
}

std::optional<CopyPoint> CopyBench::run(std::int64_t size_bytes) {
  AFORE_CHECK(size_bytes >= 1 && size_bytes <= options_.max_bytes, "the size is within the arenas");
  const std::int64_t slots = transfers_.cut(size_bytes);
  used_slots_ = std::min<std::int64_t>(slots, options_.warmup_iters + options_.iters);
  checked_slots_ = std::min<std::int64_t>(used_slots_, options_.iters);
  first_timed_ = options_.warmup_iters;
  fill();
  // Round r copies slot r mod slots, so that a round does not find the last round's bytes in a cache while the arena is
  // larger than it.
  if (!transfers_.time_rounds(ports_, {0, options_.warmup_iters, used_slots_})) return std::nullopt;
  clear_receivers();
  const auto per_port = transfers_.time_rounds(ports_, {first_timed_, options_.iters, used_slots_});
  if (!per_port) return std::nullopt;

  CopyPoint point;
  point.size_bytes = size_bytes;
  point.copies = static_cast<std::int64_t>(ports_.front().to.size());
  point.times_us = per_port->front();
  for (const std::vector<double>& times : *per_port)
    for (std::size_t i = 0; i < times.size(); ++i) point.times_us[i] = std::max(point.times_us[i], times[i]);
  summarise(point);
  if (options_.check) point.wrong = count_wrong_bytes();
  return point;
}

std::int64_t CopyBench::count_wrong_bytes() const {
  std::int64_t wrong = 0;
  for (const CopyPort& port : ports_) {
    for (const int to : port.to) {
      for (std::int64_t round = 0; round < checked_slots_; ++round) {
        const std::int64_t slot = (first_timed_ + round) % used_slots_;
        wrong += transfers_.count_wrong(to, slot, options_.seed, PatternKind::bytes, port.from, slot);
      }
    }
  }
  return wrong;
}

std::vector<std::int64_t> sweep_sizes(std::int64_t min_bytes, std::int64_t max_bytes, std::int64_t factor) {
  AFORE_CHECK(min_bytes >= 1 && factor >= 2, "a sweep grows");
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = min_bytes; size <= max_bytes; size *= factor) {
    sizes.push_back(size);
    if (size > max_bytes / factor) break;  // the next product could overflow
  }
  return sizes;
}

}  // namespace afore::device
