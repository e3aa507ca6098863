// What the nodes tell each other: work, demand, plans, rows, results, copies.
#include <algorithm>
#include <chrono>

#include "host/threads/engine.h"
#include "util/error.h"

namespace afore::host {

using pipeline::WorkItem;

namespace {

constexpr std::int64_t kOnlyEpoch = 0;  // workers of one process are lost together

}  // namespace

ThreadEngine::FlightPtr ThreadEngine::flight(const Target& target) {
  const std::lock_guard lock(flights_mutex_);
  return flights_.at(target);
}

// --- Coordinator

void ThreadEngine::send_work(const Demand& demand, const Batch& batch, const WorkItem& item) {
  if (item.kind == WorkItem::Kind::sampling) {
    for (const auto& node : attention_) node->on_work(item);
    return;
  }
  auto flight = std::make_shared<Flight>();
  flight->demand = demand;
  if (item.first_in_step) flight->batch = batch;
  for (const auto& node : attention_) {
    flight->steps.push_back(&node->step(demand.target.microbatch));
    flight->tokens.push_back(flight->steps.back()->tokens());
  }
  {
    const std::lock_guard lock(flights_mutex_);
    flight->serial = next_serial_++;
    flights_[demand.target] = flight;
  }
  scheduler_->on_target(demand);
  WorkItem mine = item;
  for (std::size_t a = 0; a < attention_.size(); ++a) {
    mine.tokens = flight->tokens[a];
    mine.kv_tokens = 0;
    for (const device::Slice& slice : flight->steps[a]->slices) mine.kv_tokens += slice.first;
    attention_[a]->on_work(mine);
  }
}

void ThreadEngine::step_done(std::int64_t step, int microbatch) {
  {
    const std::lock_guard lock(metrics_mutex_);
    metrics_.on_step_done(now(), step, microbatch);
  }
  {
    const std::lock_guard lock(serve_mutex_);
    ++sampled_[microbatch];
  }
  serve_changed_.notify_all();
}

void ThreadEngine::on_item_done(const WorkItem& item) {
  const std::lock_guard lock(coordinator_mutex_);
  coordinator_.on_item_done(item);
}

// --- Demand and plans

void ThreadEngine::on_demand(int source, const Target& target, const std::vector<std::int64_t>& counts) {
  if (!options_.paced || options_.pipeline_cost.control_latency_ns == 0) {
    scheduler_->on_demand(source, target, counts);
    return;
  }
  timer_->at(now() + options_.pipeline_cost.control_latency_ns,
             [this, source, target, counts] { scheduler_->on_demand(source, target, counts); });
}

void ThreadEngine::change_plans(const pipeline::PlannerOptions& options) {
  const std::lock_guard lock(change_mutex_);
  pipeline::Planner::check_change(planner_.policy, options.policy);
  planner_ = options;
  planner_changed_.store(true, std::memory_order_release);
}

void ThreadEngine::plan(const Demand& demand) {
  if (planner_changed_.exchange(false, std::memory_order_acquire)) {
    const std::lock_guard lock(change_mutex_);
    plans_->change(planner_);
  }
  const FlightPtr mine = flight(demand.target);
  std::int64_t sum = 0;
  for (const std::int64_t count : demand.counts) sum += count;
  AFORE_CHECK(sum == mine->demand.tokens * options_.model.top_k, "the parts of a demand do not add up");
  just_planned_.reset();
  const Nanos start_ns = now();
  pipeline::PlanPtr plan = plans_->next(demand, mine->serial);
  just_planned_->plan_ns = now() - start_ns;
  just_planned_->worker_tokens = plan->worker_tokens;
  if (sink_.planned)
    tell([this, mine, demand, planned = std::move(*just_planned_)] {
      sink_.planned(mine->batch ? &*mine->batch : nullptr, demand, planned);
    });
  const std::lock_guard lock(flights_mutex_);
  mine->plan = std::move(plan);
}

bool ThreadEngine::publish(const Target& target) {
  const FlightPtr mine = flight(target);
  if (!ring_.publish(*mine->plan)) return false;
  const auto available = [this] {
    for (const auto& node : ffn_) node->on_plan_available();
  };
  if (!options_.paced) {
    available();
    return true;
  }
  timer_->at(now() + options_.pipeline_cost.control_latency_ns, available);
  bool send = false;
  {
    const std::lock_guard lock(flights_mutex_);
    mine->published = true;
    send = mine->a2f_joined == attention_count() && !mine->sent;
    mine->sent = mine->sent || send;
  }
  if (send) start_a2f(mine);
  return true;
}

pipeline::PlanPtr ThreadEngine::take_plan(int worker, std::int64_t serial) {
  const Taken taken = ring_.take(worker, serial, kOnlyEpoch);
  if (taken.frees_producer) scheduler_->on_ring_free();
  if (taken.verdict != Verdict::plan)
    throw Error(ErrorKind::internal, std::string("the plan ring has no next plan for F") + std::to_string(worker) +
                                         ": " + to_string(taken.verdict));
  return taken.plan;
}

// --- Rows and results

std::span<device::Step* const> ThreadEngine::steps(const Target& target) { return flight(target)->steps; }

// All workers' rows go together when the last is through the gate: FFN workers see whole targets.
void ThreadEngine::on_rows(const Target& target) {
  const FlightPtr mine = flight(target);
  bool all = false, send = false;
  {
    const std::lock_guard lock(flights_mutex_);
    mine->a2f_ready_ns = now();
    all = ++mine->a2f_joined == attention_count();
    send = all && options_.paced && mine->published && !mine->sent;
    mine->sent = mine->sent || send;
  }
  if (send) start_a2f(mine);
  if (!all || options_.paced) return;
  for (const auto& node : ffn_) node->on_rows(target);
}

// Paced: when rows arrive is the cost model's word.
void ThreadEngine::start_a2f(const FlightPtr& mine) {
  std::vector<Nanos> arrivals;
  {
    const std::lock_guard lock(links_mutex_);
    links_.a2f(mine->a2f_ready_ns, mine->tokens, std::min<std::int64_t>(options_.model.top_k, ffn_count()),
               mine->plan->worker_tokens, arrivals);
  }
  const Target target = mine->demand.target;
  for (int w = 0; w < ffn_count(); ++w) timer_->at(arrivals[w], [this, w, target] { ffn_[w]->on_rows(target); });
}

// The times go first: when a step is sampled, all that there is to tell of its targets is told.
void ThreadEngine::on_ffn_done(int worker, const Target& target, const pipeline::WorkerTimes& times) {
  const FlightPtr mine = flight(target);
  note_times(*mine, worker, times);
  Nanos sent_ns = 0;
  const Nanos start_ns = now();
  if (options_.paced) {
    const std::lock_guard lock(links_mutex_);
    sent_ns = links_.f2a_send(worker, start_ns, mine->plan->worker_tokens[worker]);
  }
  {
    const std::lock_guard lock(flights_mutex_);
    mine->f2a_last_start_ns = std::max(mine->f2a_last_start_ns, start_ns);
    mine->f2a_last_sent_ns = std::max(mine->f2a_last_sent_ns, sent_ns);
    if (++mine->f2a_joined < ffn_count()) return;
    flights_.erase(target);
  }
  return_outputs(mine);
}

void ThreadEngine::note_times(Flight& flight, int worker, const pipeline::WorkerTimes& times) {
  Observed observed;
  bool whole = false;
  {
    const std::lock_guard lock(metrics_mutex_);
    whole = metrics_.on_times(*flight.plan, worker, times, ffn_count(), observed);
  }
  if (whole && sink_.observed) tell([this, observed] { sink_.observed(observed); });
}

void ThreadEngine::return_outputs(const FlightPtr& mine) {
  const Target target = mine->demand.target;
  for (const auto& node : attention_) {
    std::vector<bool>& wrote = node->wrote(target.microbatch);
    wrote.assign(static_cast<std::size_t>(ffn_count()), false);
    for (int w = 0; w < ffn_count(); ++w) wrote[w] = mine->plan->worker_tokens[w] > 0;
  }
  {
    const std::lock_guard lock(metrics_mutex_);
    metrics_.count_plan(*mine->plan, {});
    metrics_.on_outputs(now(), target);
  }
  if (!options_.paced) {
    for (const auto& node : attention_) node->on_outputs(target);
    return;
  }
  std::vector<Nanos> arrivals;
  std::vector<std::int64_t> rows;
  for (const std::int64_t tokens : mine->tokens) rows.push_back(tokens * options_.model.top_k);
  {
    const std::lock_guard lock(links_mutex_);
    links_.f2a_arrive(mine->f2a_last_start_ns, mine->f2a_last_sent_ns, rows, arrivals);
  }
  for (int a = 0; a < attention_count(); ++a)
    timer_->at(arrivals[a], [this, a, target] { attention_[a]->on_outputs(target); });
}

// --- Copies

void ThreadEngine::post_copy(const CopyId& id, const PostedCopy& copy, bool receives, int slot) {
  const std::lock_guard lock(ports_mutex_);
  PostedCopy& posted = posted_.try_emplace(id, copy).first->second;
  (receives ? posted.to_slot : posted.from_slot) = slot;
  ports_.post(id, copy.copy, receives);
}

std::vector<CopyId> ThreadEngine::release_copy(const CopyId& id, bool receives) {
  std::vector<CopyId> started;
  const std::lock_guard lock(ports_mutex_);
  ports_.release(id, receives, started);
  return started;
}

void ThreadEngine::start_copy(const CopyId& id) {
  PostedCopy posted;
  {
    const std::lock_guard lock(ports_mutex_);
    posted_.at(id).started_ns = now();
    posted = posted_.at(id);
  }
  ffn_[posted.copy.to]->on_copy_ready(id, posted);
}

Nanos ThreadEngine::on_copy_started(const Copy& copy, Nanos start_ns) {
  {
    const std::lock_guard lock(metrics_mutex_);
    metrics_.copies().on_started(now());
  }
  const Nanos copy_ns =
      options_.paced ? afore::copy_ns(options_.layer_cost, options_.cluster.workers, copy.from, copy.to) : 0;
  return disturb_copy(start_ns + copy_ns);
}

// Each end learns of it for itself; the ports are free for the next copies at once.
void ThreadEngine::on_copy_ended(const CopyId& id, const Copy& copy) {
  {
    const std::lock_guard lock(metrics_mutex_);
    metrics_.copies().on_ended(now());
  }
  copies_done_.fetch_add(1, std::memory_order_relaxed);
  std::vector<CopyId> started;
  bool last = false;
  {
    const std::lock_guard lock(ports_mutex_);
    ports_.done(id, started);
    posted_.erase(id);
    last = ports_.idle();
  }
  ffn_[copy.from]->on_copy_done(id, false);
  ffn_[copy.to]->on_copy_done(id, true);
  for (const CopyId& next : started) start_copy(next);
  if (!last) return;
  {
    const std::lock_guard lock(serve_mutex_);  // so that drain() is not between looking and waiting
  }
  serve_changed_.notify_all();
}

bool ThreadEngine::copying() {
  const std::lock_guard lock(ports_mutex_);
  return !ports_.idle();
}

// --- Pacing

void ThreadEngine::pace(Nanos start_ns, Nanos ns) {
  if (!options_.paced) return;
  clock_.sleep_until(start_ns + ns, stopping_);
  paced_ns_.fetch_add(ns, std::memory_order_relaxed);
  lasted_ns_.fetch_add(now() - start_ns, std::memory_order_relaxed);
}

double ThreadEngine::stretch() const {
  const Nanos paced_ns = paced_ns_.load();
  return paced_ns > 0 ? static_cast<double>(lasted_ns_.load()) / static_cast<double>(paced_ns) : 1;
}

Nanos ThreadEngine::paced_ffn_ns(int worker, const pipeline::PublishedPlan& plan) const {
  return ffn_ns(options_.layer_cost, options_.cluster.workers, worker, plan.tiles[worker],
                static_cast<std::int64_t>(plan.of(worker).size()));
}

Nanos ThreadEngine::paced_attention_ns(const WorkItem& item) const {
  return options_.pipeline_cost.attention_ns(item.tokens, item.kv_tokens, item.first_in_step);
}

Nanos ThreadEngine::paced_sampling_ns(const device::Step& step) const {
  return options_.pipeline_cost.sample_ns(static_cast<std::int64_t>(step.slices.size()));
}

}  // namespace afore::host
