// The one file of lib/ that reads a clock: time is what a benchmark makes. Nothing that plans or simulates uses it.
#include "migrate/copy_bench.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <latch>
#include <thread>

#include "util/error.h"
#include "util/stats.h"

namespace afore::migrate {

namespace {

using Clock = std::chrono::steady_clock;

// Rounds walk over this much of an arena where there are enough of them: more than most caches keep.
constexpr std::int64_t kColdBytes = 64 << 20;

double micros(Clock::duration d) { return std::chrono::duration<double, std::micro>(d).count(); }

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

std::int64_t arena_bytes(const CopyBenchOptions& options) {
  const std::int64_t stride = (options.max_bytes + kSlotAlignBytes - 1) / kSlotAlignBytes * kSlotAlignBytes;
  const std::int64_t rounds = std::int64_t{options.warmup_iters} + options.iters;
  const std::int64_t walked = stride > kColdBytes / rounds ? kColdBytes : rounds * stride;
  return std::max(2 * stride, walked);
}

CopyBench::CopyBench(const CopyBenchOptions& options) : options_(options) {
  AFORE_CHECK(options.workers >= 2 && options.iters >= 1 && options.warmup_iters >= 0, "checked by the caller");
  AFORE_CHECK(options.pattern != CopyPattern::pairs || options.workers % 2 == 0, "pairs need an even number");
  for (int worker = 0; worker < options.workers; ++worker) arenas_.emplace_back(arena_bytes(options));
  if (options.pattern == CopyPattern::pairs) {
    for (int worker = 0; worker < options.workers; worker += 2) ports_.push_back({worker, {worker + 1}});
  } else {
    Port port;
    for (int worker = 1; worker < options.workers; ++worker) port.to.push_back(worker);
    ports_.push_back(port);
  }
}

// Sources get their patterns; receivers are cleared, so that a copy that did not happen is seen.
void CopyBench::fill() {
  for (const Port& port : ports_) {
    for (std::int64_t slot = 0; slot < used_slots_; ++slot) {
      fill_pattern(arena(port.from).slot(slot), options_.seed, port.from, slot);
    }
  }
}

void CopyBench::poison() {
  for (const Port& port : ports_) {
    for (const int to : port.to) {
      for (std::int64_t slot = 0; slot < used_slots_; ++slot) std::ranges::fill(arena(to).slot(slot), std::byte{0});
    }
  }
}

// Round r copies slot r mod slots, so that a round does not find the last round's bytes in cache while the arena is
// larger than it. False when the run was stopped.
bool CopyBench::copy_rounds(std::int64_t first_round, int rounds, std::vector<std::vector<double>>* times_us) {
  std::latch start(static_cast<std::ptrdiff_t>(ports_.size()));
  const auto serve = [&](std::size_t index) {
    const Port& port = ports_[index];
    start.arrive_and_wait();
    Clock::time_point before = Clock::now();
    for (int round = 0; round < rounds; ++round) {
      if (options_.stop != nullptr && *options_.stop != 0) return;
      const std::int64_t slot = (first_round + round) % used_slots_;
      const auto source = arena(port.from).slot(slot);
      for (const int to : port.to) std::memcpy(arena(to).slot(slot).data(), source.data(), source.size());
      const Clock::time_point after = Clock::now();
      if (times_us != nullptr) (*times_us)[index][static_cast<std::size_t>(round)] = micros(after - before);
      before = after;
    }
  };
  std::vector<std::jthread> threads;
  for (std::size_t index = 1; index < ports_.size(); ++index) threads.emplace_back(serve, index);
  serve(0);
  threads.clear();  // joins
  return options_.stop == nullptr || *options_.stop == 0;
}

std::optional<CopyPoint> CopyBench::run(std::int64_t size_bytes) {
  AFORE_CHECK(size_bytes >= 1 && size_bytes <= options_.max_bytes, "the size is within the arenas");
  for (Arena& arena : arenas_) arena.cut(size_bytes);
  used_slots_ = std::min<std::int64_t>(arenas_.front().slots(), options_.warmup_iters + options_.iters);
  checked_slots_ = std::min<std::int64_t>(used_slots_, options_.iters);
  first_timed_ = options_.warmup_iters;
  fill();
  if (!copy_rounds(0, options_.warmup_iters, nullptr)) return std::nullopt;
  poison();
  std::vector<std::vector<double>> per_port(ports_.size(),
                                            std::vector<double>(static_cast<std::size_t>(options_.iters)));
  if (!copy_rounds(first_timed_, options_.iters, &per_port)) return std::nullopt;

  CopyPoint point;
  point.size_bytes = size_bytes;
  point.copies = static_cast<std::int64_t>(ports_.front().to.size());
  point.times_us = per_port.front();
  for (const std::vector<double>& times : per_port) {
    for (std::size_t i = 0; i < times.size(); ++i) point.times_us[i] = std::max(point.times_us[i], times[i]);
  }
  summarise(point);
  if (options_.check) point.wrong = count_wrong_bytes();
  return point;
}

std::int64_t CopyBench::count_wrong_bytes() const {
  std::int64_t wrong = 0;
  for (const Port& port : ports_) {
    for (const int to : port.to) {
      for (std::int64_t round = 0; round < checked_slots_; ++round) {
        const std::int64_t slot = (first_timed_ + round) % used_slots_;
        wrong += count_wrong(arenas_[static_cast<std::size_t>(to)].slot(slot), options_.seed, port.from, slot);
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

std::string utc_now() {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(seconds));
}

}  // namespace afore::migrate
