#include "http/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>
#include <utility>

#include "http/metric_names.h"
#include "prometheus/text_serializer.h"

namespace afore::http {
namespace {

double seconds(Nanos ns) { return static_cast<double>(ns) / 1e9; }

double over_mean(std::int64_t largest, std::int64_t sum, std::size_t workers) {
  return static_cast<double>(largest) * static_cast<double>(workers) / static_cast<double>(sum);
}

// The largest load over the mean one; nothing without load.
std::optional<double> imbalance(const std::vector<std::int64_t>& loads) {
  const std::int64_t sum = std::accumulate(loads.begin(), loads.end(), std::int64_t{0});
  if (sum == 0) return std::nullopt;
  return over_mean(*std::max_element(loads.begin(), loads.end()), sum, loads.size());
}

// A value of every target: the layers' last ones, and the mean over all so far.
class ByLayer {
 public:
  void add(int layer, double value) {
    last_[layer] = value;
    sum_ += value;
    count_ += 1;
  }
  bool empty() const { return count_ == 0; }
  double mean() const { return sum_ / static_cast<double>(count_); }
  // Over layers.
  double last() const {
    double sum = 0;
    for (const auto& [layer, value] : last_) sum += value;
    return sum / static_cast<double>(last_.size());
  }
  double smallest() const {
    return std::min_element(last_.begin(), last_.end(), [](auto& a, auto& b) { return a.second < b.second; })->second;
  }

 private:
  std::map<int, double> last_;
  double sum_ = 0;
  std::int64_t count_ = 0;
};

void raise(prometheus::Counter& counter, std::int64_t to) {
  counter.Increment(static_cast<double>(to) - counter.Value());
}

}  // namespace

struct Metrics::Counts {
  explicit Counts(MetricsOptions given) : options(std::move(given)), names(options.model_name) {}

  void take_requests();
  void take_balance();

  const MetricsOptions options;
  std::mutex mutex;
  MetricNames names;

  // Requests that the loop has told of. Those that it has not, it has not admitted: they wait.
  std::int64_t running = 0, completed = 0, rejected = 0, timed_out = 0, cancelled = 0;
  ByLayer balancedness, imbalance_tokens, imbalance_tiles, load_over_bound;
  std::optional<Nanos> last_plan_ns;
};

Metrics::Metrics(MetricsOptions options) : counts_(std::make_unique<Counts>(std::move(options))) {}
Metrics::~Metrics() = default;

// --- Requests

void Metrics::on_admitted(const std::string&, Nanos queue_ns) {
  const std::lock_guard lock(counts_->mutex);
  counts_->running += 1;
  counts_->names.queue_time.Observe(seconds(queue_ns));
}

void Metrics::on_token(const std::string&, bool first, Nanos since_ns) {
  const std::lock_guard lock(counts_->mutex);
  counts_->names.generation_tokens.Increment();
  (first ? counts_->names.time_to_first_token : counts_->names.inter_token_latency).Observe(seconds(since_ns));
}

void Metrics::on_closed(const Completion& completion, const pipeline::RequestTimes& times) {
  const std::lock_guard lock(counts_->mutex);
  MetricNames& names = counts_->names;
  if (times.admitted_ns != pipeline::kNoTime) counts_->running -= 1;
  const std::string& reason = completion.finish_reason;
  if (reason == "rejected") {
    counts_->rejected += 1;
    return;
  }
  if (reason == "timeout" || reason == "cancelled") {
    (reason == "timeout" ? counts_->timed_out : counts_->cancelled) += 1;
    names.aborted.Increment();
    return;
  }
  counts_->completed += 1;
  (reason == "stop" ? names.stopped : names.reached_length).Increment();
  names.e2e_latency.Observe(seconds(times.finished_ns - times.arrival_ns));
  names.prefill_time.Observe(seconds(times.first_token_ns - times.admitted_ns));
  const double decode_s = seconds(times.finished_ns - times.first_token_ns);
  names.decode_time.Observe(decode_s);
  if (times.output_tokens > 1)
    names.time_per_output_token.Observe(decode_s / static_cast<double>(times.output_tokens - 1));
}

void Metrics::on_step(const host::StepTokens& tokens) {
  const std::lock_guard lock(counts_->mutex);
  counts_->names.prompt_tokens.Increment(static_cast<double>(tokens.prefill));
  counts_->names.iteration_tokens.Observe(static_cast<double>(tokens.prefill + tokens.decode));
}

void Metrics::on_load(const host::ServingLoad& load) {
  const std::int64_t used = std::accumulate(load.kv_blocks_used.begin(), load.kv_blocks_used.end(), std::int64_t{0});
  const std::int64_t all = load.kv_blocks * std::ssize(load.kv_blocks_used);
  const std::lock_guard lock(counts_->mutex);
  counts_->names.kv_cache_usage.Set(all > 0 ? static_cast<double>(used) / static_cast<double>(all) : 0);
}

// --- Plans

void Metrics::on_planned(const Demand& demand, const pipeline::PlannedTarget& planned) {
  const Plan& plan = planned.plan;
  const std::lock_guard lock(counts_->mutex);
  MetricNames& names = counts_->names;
  counts_->last_plan_ns = counts_->options.clock();
  names.plans(plan.policy).Increment();
  if (planned.plan_ns != kAbsent) names.plan_time.Observe(seconds(planned.plan_ns));
  const auto copies = static_cast<double>(plan.copies.size() + plan.ahead.size());
  names.expert_copies.Increment(copies);
  names.migration_bytes.Increment(copies * static_cast<double>(counts_->options.expert_bytes));

  const int layer = demand.target.layer;
  if (const auto tokens = imbalance(planned.worker_tokens)) {
    counts_->imbalance_tokens.add(layer, *tokens);
    counts_->balancedness.add(layer, 1 / *tokens);
  }
  if (const auto tiles = imbalance(plan.tile_load)) counts_->imbalance_tiles.add(layer, *tiles);
  if (plan.lower_bound > 0)
    counts_->load_over_bound.add(layer,
                                 static_cast<double>(plan.max_tile_load) / static_cast<double>(plan.lower_bound));
}

void Metrics::on_observed(const Observed& observed) {
  const std::lock_guard lock(counts_->mutex);
  MetricNames& names = counts_->names;
  names.exposed_time.Increment(seconds(observed.exposed_ns));
  if (observed.exposed_ns > 0) names.exposed_targets.Increment();
  if (observed.slot_wait_ns > 0) names.migration_stalls.Increment();
}

// --- A scrape

// Nothing is told to the loop's observers while the mutex is held, and whoever was told of had been offered before: so
// those who wait are those who were offered and are nowhere else, and every request is counted once.
void Metrics::Counts::take_requests() {
  const host::LiveRequests::Door door = options.door();
  const std::int64_t all_rejected = rejected + door.unread.full + door.unread.draining;
  const std::int64_t all_cancelled = cancelled + door.unread.cancelled;
  const std::int64_t queued = door.offered - running - completed - all_rejected - timed_out - all_cancelled;
  raise(names.injected, door.offered);
  raise(names.completed, completed);
  raise(names.rejected, all_rejected);
  raise(names.timed_out, timed_out);
  raise(names.cancelled, all_cancelled);
  for (prometheus::Gauge* gauge : {&names.queued, &names.num_requests_waiting}) gauge->Set(static_cast<double>(queued));
  for (prometheus::Gauge* gauge : {&names.running, &names.num_requests_running})
    gauge->Set(static_cast<double>(running));
}

void Metrics::Counts::take_balance() {
  if (!balancedness.empty()) {
    names.optional("afore_eplb_balancedness").Set(balancedness.last());
    names.optional("afore_eplb_balancedness_min").Set(balancedness.smallest());
  }
  for (const auto& [of, values] : {std::pair("tokens", &imbalance_tokens), std::pair("tiles", &imbalance_tiles)}) {
    if (values->empty()) continue;
    names.optional("afore_imbalance", {{"of", of}}).Set(values->last());
    names.optional("afore_imbalance_mean", {{"of", of}}).Set(values->mean());
  }
  if (!load_over_bound.empty()) names.optional("afore_load_over_bound").Set(load_over_bound.last());
}

std::string Metrics::text(const State& state) {
  std::vector<prometheus::MetricFamily> families;
  {
    const std::lock_guard lock(counts_->mutex);
    MetricNames& names = counts_->names;
    counts_->take_requests();
    counts_->take_balance();
    if (counts_->last_plan_ns)
      names.optional("afore_plan_age_seconds").Set(seconds(counts_->options.clock() - *counts_->last_plan_ns));
    names.ready.Set(state.ready ? 1 : 0);
    names.frozen.Set(state.frozen ? 1 : 0);
    for (std::size_t w = 0; w < state.ffn_queue.size(); ++w)
      names.optional("afore_ffn_queue_depth", {{"worker", fmt::format("F{}", w)}})
          .Set(static_cast<double>(state.ffn_queue[w]));
    families = names.registry.Collect();
  }
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace afore::http
