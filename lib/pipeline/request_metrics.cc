#include "pipeline/request_metrics.h"

#include <algorithm>

#include "util/error.h"

namespace afore::pipeline {
namespace {

constexpr Nanos kNsPerS = 1'000'000'000;
constexpr double kOverloadedShare = 0.01;  // of all requests, turned away or given up
constexpr double kBackloggedShare = 0.1;   // of the time a request takes, spent waiting

double ns_of(Nanos from, Nanos to) { return static_cast<double>(to - from); }

}  // namespace

RequestMetrics::RequestMetrics(const ServiceObjectives& objectives, std::optional<std::size_t> latency_sample)
    : objectives_(objectives),
      ttft_(latency_sample),
      tpot_(latency_sample),
      itl_(latency_sample),
      itl_during_(latency_sample),
      itl_outside_(latency_sample),
      e2el_(latency_sample) {}

bool RequestMetrics::is_good(double ttft_ns, std::optional<double> tpot_ns, double e2el_ns) const {
  const auto within = [](std::optional<double> limit_ms, double ns) { return !limit_ms || ns <= *limit_ms * 1e6; };
  // A request of one token has no time per further token: it cannot miss that limit.
  return within(objectives_.ttft_ms, ttft_ns) && within(objectives_.tpot_ms, tpot_ns.value_or(0)) &&
         within(objectives_.e2el_ms, e2el_ns);
}

void RequestMetrics::on_completed(const RequestTimes& t) {
  AFORE_CHECK(t.arrival_ns <= t.admitted_ns && t.admitted_ns <= t.first_token_ns && t.first_token_ns <= t.finished_ns,
              "a request's times run backwards");
  completed_ += 1;
  input_tokens_ += t.prompt_tokens;
  output_tokens_ += t.output_tokens;
  queue_ns_ += ns_of(t.arrival_ns, t.admitted_ns);
  last_completed_ns_ = std::max(last_completed_ns_, t.finished_ns);
  const double ttft = ns_of(t.arrival_ns, t.first_token_ns), e2el = ns_of(t.arrival_ns, t.finished_ns);
  std::optional<double> tpot;
  if (t.output_tokens > 1) tpot = (e2el - ttft) / static_cast<double>(t.output_tokens - 1);
  ttft_.add(ttft);
  e2el_.add(e2el);
  if (tpot) tpot_.add(*tpot);
  if (is_good(ttft, tpot, e2el)) good_ += 1;
  concurrent_change_[t.arrival_ns / kNsPerS] += 1;
  concurrent_change_[t.finished_ns / kNsPerS + 1] -= 1;
}

void RequestMetrics::check(std::int64_t queued, std::int64_t running) {
  queued_ = queued;
  running_ = running;
  peak_queued_ = std::max(peak_queued_, queued);
  peak_running_ = std::max(peak_running_, running);
  AFORE_CHECK(injected_ == completed_ + queued + running + rejected() + timed_out_ + cancelled_,
              "requests were lost or counted twice");
}

void RequestMetrics::add_unread(std::int64_t full, std::int64_t draining, std::int64_t cancelled) {
  injected_ += full + draining + cancelled;
  rejected_for_load_ += full;
  rejected_unservable_ += draining;
  cancelled_ += cancelled;
}

void RequestMetrics::forget_before(Nanos oldest_arrival_ns) {
  const auto past = concurrent_change_.lower_bound(oldest_arrival_ns / kNsPerS);
  for (auto it = concurrent_change_.begin(); it != past; it = concurrent_change_.erase(it)) {
    concurrent_before_ += it->second;
    most_concurrent_before_ = std::max(most_concurrent_before_, concurrent_before_);
  }
}

const char* RequestMetrics::saturation(const Summary& summary) const {
  const double turned_away = static_cast<double>(rejected_for_load_ + timed_out_);
  if (turned_away > kOverloadedShare * static_cast<double>(injected_)) return "OVERLOADED";
  if (summary.mean_queue_ms && *summary.mean_queue_ms > kBackloggedShare * *summary.e2el.mean) return "BACKLOGGED";
  return "STABLE";
}

void RequestMetrics::fill(Summary& s, std::optional<Nanos> end_ns) const {
  s.completed = completed_;
  s.failed = rejected() + timed_out_;
  s.total_input_tokens = input_tokens_;
  s.total_output_tokens = output_tokens_;
  s.duration = s.request_throughput = s.output_throughput = s.total_token_throughput = s.request_goodput = {};
  if (const Nanos end = end_ns.value_or(last_completed_ns_); end > 0) {
    s.duration = static_cast<double>(end) / 1e9;
    const auto rate = [&](std::int64_t n) { return static_cast<double>(n) / *s.duration; };
    s.request_throughput = rate(completed_);
    s.output_throughput = rate(output_tokens_);
    s.total_token_throughput = rate(input_tokens_ + output_tokens_);
    if (objectives_.any()) s.request_goodput = rate(good_);
  }
  std::int64_t concurrent = concurrent_before_, most = most_concurrent_before_;
  for (const auto& [second, change] : concurrent_change_) most = std::max(most, concurrent += change);
  s.max_concurrent_requests = most;
  s.ttft = ttft_.summary();
  s.tpot = tpot_.summary();
  s.itl = itl_.summary();
  s.itl_during_migration = itl_during_.summary();
  s.itl_outside_migration = itl_outside_.summary();
  s.e2el = e2el_.summary();
  s.injected = injected_;
  s.queued = queued_;
  s.running = running_;
  s.rejected = rejected();
  s.timed_out = timed_out_;
  s.cancelled = cancelled_;
  s.peak_queued = peak_queued_;
  s.peak_running = peak_running_;
  if (completed_ > 0) s.mean_queue_ms = queue_ns_ / static_cast<double>(completed_) / 1e6;
  s.saturation = saturation(s);
}

}  // namespace afore::pipeline
