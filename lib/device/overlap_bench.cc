#include "device/overlap_bench.h"

#include <algorithm>

#include "util/error.h"
#include "util/stats.h"

namespace afore::device {
namespace {

double micros(Nanos ns) { return static_cast<double>(ns) / 1e3; }

double slowest(const std::vector<TimeSpan>& spans) {
  Nanos most = 0;
  for (const TimeSpan& span : spans) most = std::max(most, span.length());
  return micros(most);
}

// Of workers that receive something.
double exposed(const MixTimes& times) {
  Nanos most = 0;
  for (std::size_t w = 0; w < times.arrivals.size(); ++w)
    if (times.arrivals[w].length() > 0) most = std::max(most, times.arrivals[w].end_ns - times.ffn[w].end_ns);
  return micros(most);
}

Spread spread(std::vector<double> values) {
  const double p50 = quantile(values, 0.5).value();
  return {p50, quantile(values, 0.95).value()};
}

}  // namespace

std::int64_t overlap_slots(const OverlapOptions& options) { return std::int64_t{options.experts} + options.copies; }

int overlap_threads(const OverlapOptions& options, const Transfers& transfers) {
  if (transfers.compute_threads() == 0) return 0;
  return transfers.compute_threads() + static_cast<int>(copy_ports(options.pattern, options.workers).size());
}

OverlapBench::OverlapBench(Transfers& transfers, const OverlapOptions& options, std::int64_t most_tokens)
    : transfers_(transfers), options_(options), ports_(copy_ports(options.pattern, options.workers)) {
  AFORE_CHECK(options.experts >= 1 && options.copies >= 1 && options.iters >= 1, "checked by the caller");
  const std::int64_t slots = transfers_.cut(transfers_.expert_bytes(options.sizes));
  AFORE_CHECK(slots >= overlap_slots(options), "the arenas hold them");
  transfers_.prepare_ffn(options.sizes, options.experts, options.experts * most_tokens, options.seed);
  for (int worker = 0; worker < options.workers; ++worker)
    for (std::int64_t slot = 0; slot < options.experts; ++slot)
      transfers_.fill(worker, slot, options.seed, PatternKind::weights);
}

void OverlapBench::measure(const Mix& mix, Series& series) {
  Mix copies_alone = mix, ffn_alone = mix;
  copies_alone.ffn_workers = 0;
  ffn_alone.ports = {};
  series.copy.push_back(slowest(transfers_.run(copies_alone).arrivals));
  series.ffn.push_back(slowest(transfers_.run(ffn_alone).ffn));
  const MixTimes both = transfers_.run(mix);
  series.ffn_beside.push_back(slowest(both.ffn));
  series.copy_beside.push_back(slowest(both.arrivals));
  series.exposed.push_back(exposed(both));
}

std::int64_t OverlapBench::count_wrong_bytes() const {
  std::int64_t wrong = 0;
  for (const CopyPort& port : ports_)
    for (const int to : port.to)
      for (int copy = 0; copy < options_.copies; ++copy)
        wrong += transfers_.count_wrong(to, options_.experts + copy, options_.seed, PatternKind::weights, port.from,
                                        copy % options_.experts);
  return wrong;
}

std::optional<OverlapPoint> OverlapBench::run(std::int64_t tokens, const StopFlag* stop) {
  for (const CopyPort& port : ports_)
    for (const int to : port.to)
      for (int copy = 0; copy < options_.copies; ++copy) transfers_.clear(to, options_.experts + copy);
  const Mix mix{ports_, options_.copies, options_.workers, options_.experts, tokens};
  Series series, warmup;
  for (int i = 0; i < options_.warmup_iters + options_.iters; ++i) {
    if (stop != nullptr && *stop != 0) return std::nullopt;
    measure(mix, i < options_.warmup_iters ? warmup : series);
  }
  OverlapPoint point;
  point.tokens = tokens;
  point.copy_us = spread(series.copy);
  point.ffn_us = spread(series.ffn);
  point.ffn_beside_us = spread(series.ffn_beside);
  point.copy_beside_us = spread(series.copy_beside);
  point.exposed_us = spread(series.exposed);
  // A clock tick bounds times from below, so that ratios stay finite.
  point.ffn_slowdown = point.ffn_beside_us.p50 / std::max(point.ffn_us.p50, 1e-3);
  point.hidden_share = std::max(0.0, 1 - point.exposed_us.p50 / std::max(point.copy_beside_us.p50, 1e-3));
  point.wrong = count_wrong_bytes();
  point.exposed_times_us = std::move(series.exposed);
  return point;
}

}  // namespace afore::device
