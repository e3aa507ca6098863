#include "host/sim_host.h"

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "device/sim/copy_ports.h"
#include "device/sim/links.h"
#include "host/event_queue.h"
#include "pipeline/attention_worker.h"
#include "pipeline/coordinator.h"
#include "pipeline/ffn_worker.h"
#include "pipeline/plan_ring.h"
#include "pipeline/scheduler.h"
#include "util/error.h"

namespace afore::host {
namespace {

using pipeline::AttentionWorker;
using pipeline::Coordinator;
using pipeline::CopyId;
using pipeline::FfnWorker;
using pipeline::PlanPtr;
using pipeline::Scheduler;
using pipeline::WorkItem;

constexpr int kRingPlans = 64;

enum class EventKind : std::uint8_t {
  attention_done,
  sampling_done,
  demand_part,
  planned,
  plan_available,
  activations,
  copy_done,
  ffn_done,
  outputs,
  wake
};

struct Event {
  EventKind kind;
  int worker = 0;
  std::int64_t serial = 0;  // of the target; of the plan for copies
  int index = 0;            // of the copy, or of the demand part's buffer
};

// One target on its way through the pipeline.
struct Flight {
  Demand demand;
  Batch batch;
  std::vector<std::int64_t> tokens, kv_tokens;  // per attention worker
  PlanPtr plan;
  int a2f_joined = 0, f2a_joined = 0, outputs_back = 0;
  Nanos a2f_ready_ns = 0, f2a_last_start_ns = 0, f2a_last_sent_ns = 0;
};

}  // namespace

struct SimHost::Impl final : AttentionWorker::Actions, FfnWorker::Actions, Scheduler::Actions, Coordinator::Actions {
  Impl(const SimOptions& o, pipeline::PlanSource& p, SimSink s)
      : options(o),
        plans(p),
        sink(std::move(s)),
        metrics(o.cluster, o.layer_cost),
        coordinator(attention_count(), static_cast<int>(2 * o.cluster.microbatches + 2), *this),
        scheduler(attention_count(), *this),
        ring(kRingPlans, ffn_count()),
        links(o.pipeline_cost, attention_count(), ffn_count()),
        ports(ffn_count()),
        received_until(ffn_count(), 0),
        sent_until(ffn_count(), 0) {
    for (int a = 0; a < attention_count(); ++a) attention.emplace_back(a, *this);
    for (int w = 0; w < ffn_count(); ++w) ffn.emplace_back(w, o.overlap, *this);
  }

  int attention_count() const { return static_cast<int>(options.cluster.attention_workers); }
  int ffn_count() const { return static_cast<int>(options.cluster.ffn_workers); }
  Nanos now() const { return events.now(); }
  Flight& flight(std::int64_t serial) { return flights[static_cast<std::size_t>(serial - first_flight)]; }
  std::int64_t serial_of(const Target& target) const { return serials.at(target); }

  void enqueue(const Demand& demand, const Batch* batch, const pipeline::YardTimes& yard);
  void run();
  void handle(const Event& event);
  void split_over_attention(Flight& flight) const;
  void start_a2f(Flight& flight);
  void start_copies(const std::vector<device::CopyKey>& started);
  void retire_flights();
  void timeline(const char* pool, int worker, const char* lane, const char* op, const Target& target, Nanos start,
                Nanos end);

  // Coordinator
  void dispatch(const Demand& demand, const Batch& batch, const WorkItem& item) override;
  void step_done(std::int64_t step, int microbatch) override {
    metrics.on_step_done(now(), step, microbatch);
    if (sink.step_done) sink.step_done(step, microbatch);
  }
  // AttentionWorker
  void run_attention(int worker, const WorkItem& item) override;
  void run_sampling(int worker, const WorkItem& item) override;
  void send_activations(int worker, const Target& target) override;
  void send_demand(int worker, const Target& target, std::span<const std::int64_t> counts) override;
  void item_done(int, const WorkItem& item) override { coordinator.on_item_done(item); }
  // Scheduler
  void start_planning(const Demand& demand) override;
  bool publish(const Target& target) override;
  // FfnWorker
  void post_copy(int, const CopyId& id, const Copy& copy, bool receives) override {
    ports.post({id.serial, id.index}, copy, receives);
  }
  void release_copy(int, const CopyId& id, bool receives) override;
  void run_ffn(int worker, const Target& target, std::int64_t tiles, std::int64_t activated) override;
  void send_outputs(int worker, const Target& target) override;
  void report(int worker, const Target& target, const pipeline::WorkerTimes& times) override;

  SimOptions options;
  pipeline::PlanSource& plans;
  SimSink sink;
  pipeline::RunMetrics metrics;
  EventQueue<Event> events;
  Coordinator coordinator;
  Scheduler scheduler;
  pipeline::PlanRing ring;
  device::SimLinks links;
  device::CopyPorts ports;
  std::deque<AttentionWorker> attention;
  std::deque<FfnWorker> ffn;

  std::deque<Flight> flights;  // by serial - first_flight, in stream order
  std::int64_t first_flight = 0, next_serial = 0;
  std::map<Target, std::int64_t> serials;
  std::map<Target, pipeline::YardTimes> yards;  // pushed, not yet planned
  std::map<int, bool> placed_layers;
  std::vector<std::vector<std::int64_t>> parts;  // demand parts under way
  std::vector<int> free_parts;
  std::map<device::CopyKey, std::int64_t> running_copies;  // start, for the timeline
  std::vector<Nanos> received_until, sent_until;           // by FFN worker: its link is taken, for the timeline
  std::vector<Nanos> arrivals;
  std::vector<std::int64_t> rows, part;
};

void SimHost::Impl::enqueue(const Demand& demand, const Batch* batch, const pipeline::YardTimes& yard) {
  if (serials.contains(demand.target))
    throw Error(ErrorKind::data, "step " + std::to_string(demand.target.step) + " layer " +
                                     std::to_string(demand.target.layer) + " microbatch " +
                                     std::to_string(demand.target.microbatch) + " occurs twice");
  metrics.on_target(demand, batch);
  yards[demand.target] = yard;
  coordinator.on_target(demand, batch != nullptr ? *batch : Batch{});
}

// Until the coordinator needs input: nothing that happens before then can depend on targets not pushed yet.
void SimHost::Impl::run() {
  while (!coordinator.starved() && !events.empty()) handle(events.pop());
}

void SimHost::Impl::handle(const Event& event) {
  switch (event.kind) {
    case EventKind::wake: break;
    case EventKind::attention_done: {
      const Flight& f = flight(event.serial);
      // This worker's part of the gate's counts: an even share of each expert's, remainders spread over workers.
      const std::int64_t workers = attention_count();
      part.resize(f.demand.counts.size());
      for (std::size_t e = 0; e < part.size(); ++e) {
        const std::int64_t count = f.demand.counts[e];
        part[e] = count / workers + ((event.worker + static_cast<std::int64_t>(e)) % workers < count % workers ? 1 : 0);
      }
      attention[event.worker].on_attention_done(f.demand.target, part);
      break;
    }
    case EventKind::sampling_done: attention[event.worker].on_sampling_done(); break;
    case EventKind::demand_part: {
      const Target target = flight(event.serial).demand.target;
      free_parts.push_back(event.index);
      scheduler.on_demand(event.worker, target, parts[event.index]);
      break;
    }
    case EventKind::planned: scheduler.on_planned(flight(event.serial).demand.target); break;
    case EventKind::plan_available: {
      const bool was_full = ring.full();
      const PlanPtr plan = ring.take(event.worker);
      AFORE_CHECK(plan && plan->serial == event.serial, "the plan ring lost a plan");
      ffn[event.worker].on_plan(now(), plan);
      if (was_full && !ring.full()) scheduler.on_ring_free();
      break;
    }
    case EventKind::activations: ffn[event.worker].on_activations(now(), flight(event.serial).demand.target); break;
    case EventKind::copy_done: {
      const device::CopyKey key{event.serial, event.index};
      const Copy copy = ports.copy(key);
      if (sink.operation) {
        timeline("F", copy.to, "copy", "copy_expert", flight(event.serial).demand.target, running_copies[key], now());
        running_copies.erase(key);
      }
      std::vector<device::CopyKey> started;
      ports.done(key, started);
      ffn[copy.from].on_copy_done(now(), {event.serial, event.index}, false);
      ffn[copy.to].on_copy_done(now(), {event.serial, event.index}, true);
      start_copies(started);
      break;
    }
    case EventKind::ffn_done: ffn[event.worker].on_ffn_done(now(), flight(event.serial).demand.target); break;
    case EventKind::outputs: {
      Flight& f = flight(event.serial);
      const Target target = f.demand.target;
      if (++f.outputs_back == attention_count()) metrics.on_outputs(now(), target);
      attention[event.worker].on_outputs(target);
      retire_flights();
      break;
    }
  }
}

// Tokens as the batch assigns sequences to workers, else evenly; cached tokens in proportion.
void SimHost::Impl::split_over_attention(Flight& f) const {
  const std::int64_t workers = attention_count();
  f.tokens.assign(workers, 0);
  f.kv_tokens.assign(workers, 0);
  const std::int64_t tokens = f.demand.tokens;
  const bool has_batch = f.batch.sequences > 0 || f.batch.kv_tokens > 0;
  const std::int64_t kv = has_batch ? f.batch.kv_tokens : tokens * options.kv_tokens;
  const auto& given = f.batch.per_attention_worker;
  std::int64_t sequences = 0;
  for (const std::int64_t s : given) sequences += s;
  const bool use_given = static_cast<std::int64_t>(given.size()) == workers && sequences > 0;
  std::int64_t seen = 0;
  for (std::int64_t a = 0; a < workers; ++a) {
    const std::int64_t before = seen;
    seen += use_given ? given[a] : 1;
    const std::int64_t all = use_given ? sequences : workers;
    f.tokens[a] = tokens * seen / all - tokens * before / all;
    f.kv_tokens[a] = kv * seen / all - kv * before / all;
  }
}

void SimHost::Impl::dispatch(const Demand& demand, const Batch& batch, const WorkItem& item) {
  if (item.kind == WorkItem::Kind::attention) {
    const std::int64_t serial = next_serial++;
    serials[demand.target] = serial;
    Flight& f = flights.emplace_back();
    f.demand = demand;
    f.batch = batch;
    split_over_attention(f);
    scheduler.on_target(demand.target, demand.phase, demand.tokens, static_cast<int>(demand.counts.size()));
    WorkItem mine = item;
    for (int a = 0; a < attention_count(); ++a) {
      mine.tokens = f.tokens[a];
      mine.kv_tokens = f.kv_tokens[a];
      attention[a].on_work(mine);
    }
  } else {
    for (int a = 0; a < attention_count(); ++a) attention[a].on_work(item);
  }
}

void SimHost::Impl::run_attention(int worker, const WorkItem& item) {
  const Nanos end = now() + options.pipeline_cost.attention_ns(item.tokens, item.kv_tokens);
  timeline("A", worker, "compute", "attention", item.target, now(), end);
  events.push(end, {EventKind::attention_done, worker, serial_of(item.target), 0});
}

void SimHost::Impl::run_sampling(int worker, const WorkItem& item) {
  const Nanos end = now() + options.pipeline_cost.sampling_ns;
  timeline("A", worker, "compute", "sampling", item.target, now(), end);
  events.push(end, {EventKind::sampling_done, worker, 0, 0});
}

void SimHost::Impl::send_demand(int worker, const Target& target, std::span<const std::int64_t> counts) {
  int buffer = static_cast<int>(parts.size());
  if (free_parts.empty()) {
    parts.emplace_back();
  } else {
    buffer = free_parts.back();
    free_parts.pop_back();
  }
  parts[buffer].assign(counts.begin(), counts.end());
  events.push(now() + options.pipeline_cost.control_latency_ns,
              {EventKind::demand_part, worker, serial_of(target), buffer});
}

void SimHost::Impl::send_activations(int, const Target& target) {
  Flight& f = flight(serial_of(target));
  f.a2f_ready_ns = now();
  if (++f.a2f_joined == attention_count() && f.plan) start_a2f(f);
}

// Rows leave as soon as the gate is done; how many go where is the plan's word. Starting the transfer's clock at the
// gate while the plan is still being made assumes the first rows need no plan (those of experts on one worker).
void SimHost::Impl::start_a2f(Flight& f) {
  const std::int64_t serial = f.plan->serial;
  const std::int64_t copies = std::min<std::int64_t>(options.model.top_k, ffn_count());
  links.a2f(f.a2f_ready_ns, f.tokens, copies, f.plan->worker_tokens, arrivals);
  for (int w = 0; w < ffn_count(); ++w) {
    if (sink.operation) {
      timeline("F", w, "a2f", "receive", f.demand.target, std::max(f.a2f_ready_ns, received_until[w]), arrivals[w]);
      received_until[w] = arrivals[w];
    }
    events.push(std::max(now(), arrivals[w]), {EventKind::activations, w, serial, 0});
  }
}

void SimHost::Impl::start_planning(const Demand& demand) {
  const std::int64_t serial = serial_of(demand.target);
  Flight& f = flight(serial);
  AFORE_CHECK(demand.counts == f.demand.counts, "the parts of a demand do not add up");
  const int layer = demand.target.layer;
  if (!placed_layers[layer]) {
    placed_layers[layer] = true;
    for (FfnWorker& worker : ffn) worker.set_placement(layer, plans.placement(layer));
  }
  f.plan = plans.next(f.demand, serial);
  metrics.on_plan(*f.plan, yards.at(demand.target));
  yards.erase(demand.target);
  events.push(now() + options.pipeline_cost.scheduler_ns, {EventKind::planned, 0, serial, 0});
}

bool SimHost::Impl::publish(const Target& target) {
  if (ring.full()) return false;
  const std::int64_t serial = serial_of(target);
  Flight& f = flight(serial);
  ring.publish(f.plan);
  for (int w = 0; w < ffn_count(); ++w)
    events.push(now() + options.pipeline_cost.control_latency_ns, {EventKind::plan_available, w, serial, 0});
  if (f.a2f_joined == attention_count()) start_a2f(f);
  return true;
}

void SimHost::Impl::release_copy(int, const CopyId& id, bool receives) {
  std::vector<device::CopyKey> started;
  ports.release({id.serial, id.index}, receives, started);
  start_copies(started);
}

void SimHost::Impl::start_copies(const std::vector<device::CopyKey>& started) {
  for (const device::CopyKey& key : started) {
    ffn[ports.copy(key).to].on_copy_started(now(), {key.first, key.second});
    if (sink.operation) running_copies[key] = now();
    events.push(now() + options.layer_cost.copy_ns, {EventKind::copy_done, 0, key.first, key.second});
  }
}

void SimHost::Impl::run_ffn(int worker, const Target& target, std::int64_t tiles, std::int64_t activated) {
  const Nanos end = now() + options.layer_cost.ffn_ns(tiles, activated);
  timeline("F", worker, "compute", "expert_ffn", target, now(), end);
  events.push(end, {EventKind::ffn_done, worker, serial_of(target), 0});
}

void SimHost::Impl::send_outputs(int worker, const Target& target) {
  Flight& f = flight(serial_of(target));
  const Nanos sent = links.f2a_send(worker, now(), f.plan->worker_tokens[worker]);
  if (sink.operation) {
    timeline("F", worker, "f2a", "send", target, std::max(now(), sent_until[worker]), sent);
    sent_until[worker] = sent;
  }
  f.f2a_last_start_ns = std::max(f.f2a_last_start_ns, now());
  f.f2a_last_sent_ns = std::max(f.f2a_last_sent_ns, sent);
  if (++f.f2a_joined < ffn_count()) return;
  std::int64_t pairs = 0;
  for (const std::int64_t n : f.plan->worker_tokens) pairs += n;
  rows.resize(f.tokens.size());
  for (std::size_t a = 0; a < rows.size(); ++a)
    rows[a] = f.demand.tokens > 0 ? f.tokens[a] * pairs / f.demand.tokens : 0;
  links.f2a_arrive(f.f2a_last_start_ns, f.f2a_last_sent_ns, rows, arrivals);
  const std::int64_t serial = serial_of(target);
  for (int a = 0; a < attention_count(); ++a) events.push(arrivals[a], {EventKind::outputs, a, serial, 0});
}

void SimHost::Impl::report(int worker, const Target& target, const pipeline::WorkerTimes& times) {
  Observed observed;
  if (metrics.on_times(*flight(serial_of(target)).plan, worker, times, observed) && sink.observed)
    sink.observed(observed);
}

// A flight may leave when its outputs are back and no copy of its plan still runs (background copies outlive it).
void SimHost::Impl::retire_flights() {
  while (!flights.empty() && flights.front().outputs_back == attention_count() && ports.idle_before(first_flight + 1)) {
    serials.erase(flights.front().demand.target);
    flights.pop_front();
    ++first_flight;
  }
}

void SimHost::Impl::timeline(const char* pool, int worker, const char* lane, const char* op, const Target& target,
                             Nanos start, Nanos end) {
  if (sink.operation) sink.operation({pool + std::to_string(worker), lane, op, target, start, end});
}

SimHost::SimHost(const SimOptions& options, pipeline::PlanSource& plans, SimSink sink)
    : impl_(std::make_unique<Impl>(options, plans, std::move(sink))) {}
SimHost::~SimHost() = default;

void SimHost::push(const Demand& demand, const Batch* batch, const pipeline::YardTimes& yard) {
  impl_->enqueue(demand, batch, yard);
  impl_->run();
}

void SimHost::enqueue(const Demand& demand, const Batch* batch, const pipeline::YardTimes& yard) {
  impl_->enqueue(demand, batch, yard);
}

void SimHost::end_step(int microbatch) { impl_->coordinator.on_step_end(microbatch); }

void SimHost::wake_at(Nanos at_ns) { impl_->events.push(at_ns, {EventKind::wake, 0, 0, 0}); }

bool SimHost::advance() {
  if (impl_->events.empty()) return false;
  impl_->handle(impl_->events.pop());
  return true;
}

Nanos SimHost::now() const { return impl_->now(); }

void SimHost::finish() {
  impl_->coordinator.on_end();
  while (!impl_->events.empty()) impl_->handle(impl_->events.pop());
  AFORE_CHECK(impl_->coordinator.idle() && impl_->ports.idle(), "the pipeline stopped with work in it");
}

const pipeline::RunMetrics& SimHost::metrics() const { return impl_->metrics; }

Summary SimHost::summary() const {
  Summary summary = impl_->metrics.summary();
  summary.host = "sim";
  summary.device = "cost-model";
  return summary;
}

}  // namespace afore::host
