#include "pipeline/run_metrics.h"

#include <algorithm>

#include "util/error.h"

namespace afore::pipeline {
namespace {

double mean(Nanos sum, std::int64_t n) { return static_cast<double>(sum) / static_cast<double>(n); }

}  // namespace

RunMetrics::RunMetrics(const ClusterSpec& cluster, const LayerCost& cost, Requests requests,
                       std::optional<std::size_t> latency_sample)
    : cluster_(cluster),
      cost_(cost),
      requests_(requests),
      itl_(latency_sample),
      itl_during_(latency_sample),
      itl_outside_(latency_sample),
      tpot_(latency_sample) {}

void RunMetrics::on_target(const Demand& demand, const Batch* batch) {
  if (!any_target_) first_step_ = demand.target.step;
  any_target_ = true;
  auto [it, first] = microbatches_[demand.target.microbatch].steps.try_emplace(demand.target.step);
  if (!first) return;
  Step& step = it->second;
  step.measured = demand.phase != Phase::warmup;
  const std::int64_t prefill = batch != nullptr                 ? batch->prefill_tokens
                               : demand.phase == Phase::prefill ? demand.tokens
                                                                : 0;
  step.input_tokens = prefill;
  step.output_tokens = batch != nullptr && batch->sampled != kAbsent ? batch->sampled : demand.tokens - prefill;
  if (batch == nullptr) return;
  step.has_batch = any_batch_ = true;
  if (requests_ == Requests::counted_elsewhere) return;
  step.admitted = batch->admitted;
  step.finished = batch->finished;
}

void RunMetrics::count_plan(const PublishedPlan& published, const YardTimes& yard) {
  const Plan& plan = published.plan;
  policy_ = plan.policy;
  if (published.phase == Phase::warmup) {
    warmup_copies_ += std::ssize(plan.copies) + std::ssize(plan.ahead);
    return;
  }
  const int workers = static_cast<int>(cluster_.ffn_workers);
  targets_ += 1;
  certified_ += plan.certified ? 1 : 0;
  copies_ += std::ssize(plan.copies) + std::ssize(plan.ahead);
  ahead_copies_ += std::ssize(plan.ahead);
  plan_ffn_before_ns_ += plan.ffn_ns_before;

  std::int64_t tokens = 0, max_tokens = 0, tiles = 0;
  for (int w = 0; w < workers; ++w) {
    tokens += published.worker_tokens[w];
    max_tokens = std::max(max_tokens, published.worker_tokens[w]);
    tiles += published.tiles[w];
  }
  if (tokens > 0) {
    const double mean_tokens = static_cast<double>(tokens) / workers;
    imbalance_tokens_ += static_cast<double>(max_tokens) / mean_tokens;
    imbalance_tiles_ += static_cast<double>(plan.max_tile_load) * workers / static_cast<double>(tiles);
    sum_mean_ += mean_tokens;
    sum_max_ += static_cast<double>(max_tokens);
  }
  if (plan.lower_bound > 0) {
    bounded_ += 1;
    load_over_bound_ += static_cast<double>(plan.max_tile_load) / static_cast<double>(plan.lower_bound);
  }

  static_ns_ += yard.static_ns;
  ideal_ns_ += plan.is_virtual ? plan.ffn_ns : yard.ideal_ns;
  static_tiles_ += yard.static_tiles;
  ideal_tiles_ += yard.ideal_tiles;
  tiles_ += plan.max_tile_load;
  by_tiles_ = plan.objective == Objective::tiles;
}

void RunMetrics::on_predicted(const Plan& plan) {
  ffn_ns_ += plan.ffn_ns;
  migration_ns_ += plan.migration_ns;
  window_ns_ += plan.window_ns;
  exposed_ns_ += plan.exposed_ns;
  slack_ns_ += std::max<Nanos>(0, plan.window_ns - plan.migration_ns);
  exposed_targets_ += plan.exposed_ns > 0 ? 1 : 0;
}

void RunMetrics::forget(const Target& target) { worst_.erase(target); }

bool RunMetrics::on_times(const PublishedPlan& published, int worker, const WorkerTimes& times, int workers,
                          Observed& observed) {
  const Target& target = published.plan.target;
  Worst& worst = worst_[target];
  auto rank = [](const WorkerTimes& t) { return std::pair(t.exposed_ns, t.migration_ns); };
  if (worst.worker == -1 || rank(times) > rank(worst.times) ||
      (rank(times) == rank(worst.times) && worker < worst.worker)) {
    worst.worker = worker;
    worst.times = times;
  }
  worst.smallest_window_ns =
      worst.reported == 0 ? times.window_ns : std::min(worst.smallest_window_ns, times.window_ns);
  worst.ffn_ns = std::max(worst.ffn_ns, times.ffn_ns);
  worst.slot_wait_ns = std::max(worst.slot_wait_ns, times.slot_wait_ns);
  if (++worst.reported < workers) return false;

  observed.target = target;
  observed.seq = published.plan.seq;
  observed.ffn_ns = worst.ffn_ns;
  observed.migration_ns = worst.times.migration_ns;
  observed.window_ns = worst.times.migration_ns == 0 ? worst.smallest_window_ns : worst.times.window_ns;
  observed.exposed_ns = worst.times.exposed_ns;
  observed.slack_ns = std::max<Nanos>(0, observed.window_ns - observed.migration_ns);
  observed.slot_wait_ns = worst.slot_wait_ns;
  worst_.erase(target);
  if (published.phase != Phase::warmup) {
    ffn_ns_ += observed.ffn_ns;
    migration_ns_ += observed.migration_ns;
    window_ns_ += observed.window_ns;
    exposed_ns_ += observed.exposed_ns;
    slack_ns_ += observed.slack_ns;
    exposed_targets_ += observed.exposed_ns > 0 ? 1 : 0;
    slot_waits_ += observed.slot_wait_ns > 0 ? 1 : 0;
  }
  return true;
}

void RunMetrics::on_outputs(Nanos now, const Target& target) {
  if (target.step == first_step_) first_step_ns_ = std::max(first_step_ns_, now);
}

void RunMetrics::on_step_done(Nanos now, std::int64_t step, int microbatch) {
  Microbatch& state = microbatches_[microbatch];
  const auto it = state.steps.find(step);
  AFORE_CHECK(it != state.steps.end(), "a step is done that was not begun");
  const Step done = std::move(it->second);
  state.steps.erase(it);
  const Nanos before = state.last_done_ns;
  const Nanos copying = copy_clock_.copying_ns(now) - state.copying_ns;
  if (done.measured) {
    if (measured_from_ns_ < 0) measured_from_ns_ = before;
    measured_from_ns_ = std::min(measured_from_ns_, before);
    measured_to_ns_ = std::max(measured_to_ns_, now);
    output_tokens_ += done.output_tokens;
    input_tokens_ += done.input_tokens;
    if (state.any_done) {
      steps_ += 1;
      step_ns_ += now - before;
      measured_copying_ns_ += copying;
      if (done.has_batch && done.output_tokens > 0) {
        itl_.add(static_cast<double>(now - before), done.output_tokens);
        (copying > 0 ? itl_during_ : itl_outside_).add(static_cast<double>(now - before), done.output_tokens);
      }
    }
    if (done.has_batch) count_requests(now, step, done);
  }
  state.last_done_ns = now;
  state.copying_ns += copying;
  state.any_done = true;
}

void RunMetrics::count_requests(Nanos now, std::int64_t step, const Step& done) {
  for (const std::string& id : done.admitted) live_[id] = {now, step};
  for (const std::string& id : done.finished) {
    completed_ += 1;
    const auto it = live_.find(id);
    if (it == live_.end()) continue;  // admitted during warm-up: its first token is not in the measured part
    const std::int64_t gaps = step - it->second.first_step;
    if (gaps > 0) tpot_.add(mean(now - it->second.first_token_ns, gaps));
    live_.erase(it);
  }
}

Summary RunMetrics::summary() const {
  Summary s;
  s.policy = policy_;
  s.targets = targets_;
  s.certified_targets = certified_;
  s.copies = copies_;
  s.copied_bytes = copies_ * cost_.expert_bytes;
  s.exposed_targets = exposed_targets_;
  s.slot_waits = slot_waits_;
  if (ahead_copies_ > 0) s.notes["ahead_copies"] = std::to_string(ahead_copies_);
  if (warmup_copies_ > 0) s.notes["warmup_copies"] = std::to_string(warmup_copies_);
  if (measured_to_ns_ > measured_from_ns_ && measured_from_ns_ >= 0) {
    s.duration = static_cast<double>(measured_to_ns_ - measured_from_ns_) / 1e9;
    s.total_output_tokens = output_tokens_;
    s.total_input_tokens = input_tokens_;
    s.output_throughput = static_cast<double>(output_tokens_) / *s.duration;
    s.total_token_throughput = static_cast<double>(output_tokens_ + input_tokens_) / *s.duration;
    if (any_batch_ && requests_ == Requests::of_batches) {
      s.completed = completed_;
      s.failed = 0;
      s.request_throughput = static_cast<double>(completed_) / *s.duration;
    }
  }
  s.itl = itl_.summary();
  s.itl_during_migration = itl_during_.summary();
  s.itl_outside_migration = itl_outside_.summary();
  if (step_ns_ > 0) s.migrating_share = mean(measured_copying_ns_, step_ns_);
  s.tpot = tpot_.summary();
  if (steps_ > 0) s.step_ns = mean(step_ns_, steps_);
  if (targets_ == 0) return s;
  s.imbalance_tokens = imbalance_tokens_ / static_cast<double>(targets_);
  s.imbalance_tiles = imbalance_tiles_ / static_cast<double>(targets_);
  if (bounded_ > 0) s.load_over_bound = load_over_bound_ / static_cast<double>(bounded_);
  if (sum_max_ > 0) s.balancedness = sum_mean_ / sum_max_;
  // An ideal that is no faster than static (possible under objective tiles) is no scale.
  if (ideal_ns_ < static_ns_)
    s.gain_captured =
        static_cast<double>(static_ns_ - ffn_ns_ - exposed_ns_) / static_cast<double>(static_ns_ - ideal_ns_);
  if (by_tiles_ && ideal_tiles_ < static_tiles_)
    s.gain_captured_tiles =
        static_cast<double>(static_tiles_ - tiles_) / static_cast<double>(static_tiles_ - ideal_tiles_);
  s.ffn_ns = mean(ffn_ns_, targets_);
  s.ffn_ns_before = mean(plan_ffn_before_ns_, targets_);
  s.migration_ns = mean(migration_ns_, targets_);
  s.window_ns = mean(window_ns_, targets_);
  s.exposed_ns = mean(exposed_ns_, targets_);
  s.slack_ns = mean(slack_ns_, targets_);
  return s;
}

}  // namespace afore::pipeline
