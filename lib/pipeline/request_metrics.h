#pragma once
// What served requests are judged by, with the definitions of vLLM's benchmark client (docs/metrics.md, requests), and
// their conservation: injected = completed + queued + running + rejected + timed_out + cancelled, checked at every
// change. Its size is bounded, however many requests there are: by what Latencies keep, and by the seconds that the
// open requests have seen.
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "core/records.h"
#include "pipeline/latency.h"

namespace afore::pipeline {

// Limits a good request keeps, each of them; absent = no limit.
struct ServiceObjectives {
  std::optional<double> ttft_ms, tpot_ms, e2el_ms;
  bool any() const { return ttft_ms || tpot_ms || e2el_ms; }
};

// Times of one request, from arrival on; kNoTime: it never came so far.
inline constexpr Nanos kNoTime = -1;
struct RequestTimes {
  Nanos arrival_ns = 0, admitted_ns = 0, first_token_ns = 0, finished_ns = 0;
  std::int64_t prompt_tokens = 0, output_tokens = 0;
};

class RequestMetrics {
 public:
  // `latency_sample`: as of Latencies.
  explicit RequestMetrics(const ServiceObjectives& objectives,
                          std::optional<std::size_t> latency_sample = std::nullopt);

  void on_arrival() { injected_ += 1; }
  // `load`: refused for want of room or time; false: no run could have served it.
  void on_rejected(bool load) { (load ? rejected_for_load_ : rejected_unservable_) += 1; }
  void on_timed_out() { timed_out_ += 1; }
  void on_cancelled() { cancelled_ += 1; }
  // Requests that ended before they came this far: refused for want of room, or because none are taken any more; or
  // their clients went away.
  void add_unread(std::int64_t full, std::int64_t draining, std::int64_t cancelled);
  // Between two tokens of a request that is complete; `migrating`: a copy was under way meanwhile.
  void on_gap(Nanos gap_ns, bool migrating) {
    itl_.add(static_cast<double>(gap_ns));
    (migrating ? itl_during_ : itl_outside_).add(static_cast<double>(gap_ns));
  }
  void on_completed(const RequestTimes& times);
  // Who holds the open requests says how many wait and how many run. AFORE_CHECK when they do not add up.
  void check(std::int64_t queued, std::int64_t running);
  // Requests that complete from now on did not arrive before.
  void forget_before(Nanos oldest_arrival_ns);

  // Puts the requests' part into a run's summary. `end_ns`: the run was ended there; without it the last completion is
  // its end. Both count from the first arrival.
  void fill(Summary& summary, std::optional<Nanos> end_ns) const;

 private:
  std::int64_t rejected() const { return rejected_for_load_ + rejected_unservable_; }
  bool is_good(double ttft_ns, std::optional<double> tpot_ns, double e2el_ns) const;
  const char* saturation(const Summary& summary) const;

  ServiceObjectives objectives_;
  std::int64_t injected_ = 0, completed_ = 0, rejected_for_load_ = 0, rejected_unservable_ = 0, timed_out_ = 0,
               cancelled_ = 0;
  std::int64_t queued_ = 0, running_ = 0, peak_queued_ = 0, peak_running_ = 0;
  std::int64_t good_ = 0, input_tokens_ = 0, output_tokens_ = 0;
  double queue_ns_ = 0;  // of completed ones
  Nanos last_completed_ns_ = 0;
  Latencies ttft_, tpot_, itl_, itl_during_, itl_outside_, e2el_;
  // By second: completed ones that begin, less those that ended. What lies before is in the sum and its peak.
  std::map<std::int64_t, std::int64_t> concurrent_change_;
  std::int64_t concurrent_before_ = 0, most_concurrent_before_ = 0;
};

}  // namespace afore::pipeline
