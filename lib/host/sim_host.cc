#include <algorithm>
#include <string>
#include <vector>

#include "host/sim_impl.h"
#include "util/error.h"

namespace afore::host {

void SimHost::Impl::enqueue(const Demand& demand, const Batch* batch, const pipeline::YardTimes& yard) {
  if (serials.contains(demand.target))
    throw Error(ErrorKind::data, "step " + std::to_string(demand.target.step) + " layer " +
                                     std::to_string(demand.target.layer) + " microbatch " +
                                     std::to_string(demand.target.microbatch) + " occurs twice");
  const auto [last, first] = last_step.try_emplace(demand.target.microbatch, demand.target.step);
  if (!first && demand.target.step < last->second)
    throw Error(ErrorKind::data,
                "microbatch " + std::to_string(demand.target.microbatch) + ": step " +
                    std::to_string(demand.target.step) + " comes after step " + std::to_string(last->second),
                "a stream has its steps in order");
  last->second = demand.target.step;
  metrics.on_target(demand, batch);
  yards[demand.target] = yard;
  coordinator.on_target(demand, batch != nullptr ? *batch : Batch{});
}

Nanos SimHost::Impl::chunk_ns(const SimOptions& o) {
  const double share = static_cast<double>(std::max<std::int64_t>(o.shared_chunk_bytes, 0)) /
                       static_cast<double>(std::max<std::int64_t>(o.layer_cost.expert_bytes, 1));
  return static_cast<Nanos>(static_cast<double>(o.layer_cost.copy_ns) * std::min(share, 1.0));
}

// Until the coordinator needs input: nothing that happens before then can depend on targets not pushed yet.
void SimHost::Impl::run() {
  while (!coordinator.starved() && !events.empty()) handle(events.pop());
}

void SimHost::Impl::handle(const Event& event) {
  if (is_void(event)) return;
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
      units.done(event.worker);
      break;
    }
    case EventKind::sampling_done:
      attention[event.worker].on_sampling_done();
      units.done(event.worker);
      break;
    case EventKind::demand_part: {
      const Target target = flight(event.serial).demand.target;
      free_parts.push_back(event.index);
      scheduler.on_demand(event.worker, target, parts[event.index]);
      break;
    }
    case EventKind::planned: scheduler.on_planned(flight(event.serial).demand.target); break;
    case EventKind::plan_available: take_plans(event.worker, event.serial); break;
    case EventKind::rows: units.rows_arrived(event.worker, event.serial); break;
    case EventKind::copy_done: finish_copy({event.serial, event.index}); break;
    case EventKind::copy_noticed:
      ffn[event.worker].on_copy_done(now(), {event.serial, event.index}, event.receives);
      break;
    case EventKind::copy_released: release_copy(event.worker, {event.serial, event.index}, event.receives); break;
    case EventKind::reloaded: ffn[event.worker].on_copy_done(now(), {event.serial, event.index}, true); break;
    case EventKind::worker_lost: alive[event.worker] = false; break;
    case EventKind::loss_noticed: end_epoch(); break;
    case EventKind::ffn_done:
      ffn[event.worker].on_ffn_done(now(), flight(event.serial).demand.target);
      units.done(event.worker);
      break;
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

// All plans up to that of target `serial`: one the worker was not told of is found with the next.
void SimHost::Impl::take_plans(int worker, std::int64_t serial) {
  while (taken_serial[worker] < serial) {
    const bool was_full = ring.full();
    const PlanPtr plan = ring.take(worker);
    AFORE_CHECK(plan && plan->serial == taken_serial[worker] + 1, "the plan ring lost a plan");
    taken_serial[worker] = plan->serial;
    ffn[worker].on_plan(now(), plan);
    units.plan_taken(worker, plan->serial);
    if (was_full && !ring.full()) scheduler.on_ring_free();
  }
}

// Each end notices for itself.
void SimHost::Impl::finish_copy(const CopyId& id) {
  const Copy copy = ports.copy(id);
  if (const Nanos delay = shares_links() ? traffic.take_delay(id) : 0; delay > 0) {
    events.push(now() + delay, caused(EventKind::copy_done, copy.to, id.serial, id.index));
    return;
  }
  if (sink.operation) {
    timeline("F", copy.to, "copy", "copy_expert", flight(id.serial).demand.target, running_copies[id], now());
    running_copies.erase(id);
  }
  std::vector<CopyId> started;
  ports.done(id, started);
  metrics.copies().on_ended(now());
  for (const bool receives : {false, true}) {
    const int worker = receives ? copy.to : copy.from;
    const Nanos noticed =
        clock.notices('F', worker, receives ? FaultClock::Lane::copy_in : FaultClock::Lane::copy_out, now());
    if (noticed == now()) ffn[worker].on_copy_done(now(), id, receives);
    else events.push(noticed, caused(EventKind::copy_noticed, worker, id.serial, id.index, receives));
  }
  start_copies(started);
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

void SimHost::Impl::send_work(const Demand& demand, const Batch& batch, const WorkItem& item) {
  if (item.kind == WorkItem::Kind::attention) {
    const std::int64_t serial = next_serial++;
    serials[demand.target] = serial;
    Flight& f = flights.emplace_back();
    f.demand = demand;
    f.batch = batch;
    f.yard = yards.at(demand.target);
    yards.erase(demand.target);
    split_over_attention(f);
    scheduler.on_target(demand.target, demand.phase, demand.tokens, static_cast<int>(demand.counts.size()));
    WorkItem mine = item;
    for (int a = 0; a < attention_count(); ++a) {
      mine.tokens = f.tokens[a];
      mine.kv_tokens = f.kv_tokens[a];
      attention[a].on_work(mine);
    }
    const bool by_worker = f.batch.per_attention_worker.size() == f.tokens.size();
    sampling_sequences[demand.target.microbatch] = by_worker ? f.batch.per_attention_worker : f.tokens;
  } else {
    WorkItem mine = item;
    for (int a = 0; a < attention_count(); ++a) {
      mine.tokens = sampling_sequences.at(item.target.microbatch)[a];
      attention[a].on_work(mine);
    }
  }
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
              caused(EventKind::demand_part, worker, serial_of(target), buffer));
}

void SimHost::Impl::send_rows(int, const Target& target) {
  Flight& f = flight(serial_of(target));
  f.a2f_ready_ns = now();
  if (++f.a2f_joined == attention_count() && f.plan) start_a2f(f);
}

// Rows leave as soon as the gate is done; how many go where is the plan's word. Starting the transfer's clock at the
// gate while the plan is still being made assumes the first rows need no plan (those of experts on one worker).
void SimHost::Impl::start_a2f(Flight& f) {
  const std::int64_t serial = f.plan->serial;
  transfers->count_rows(f.tokens, f.plan->worker_tokens, f.rows);
  transfers->slow_down(clock.slowdown(now()));
  transfers->dispatch(f.a2f_ready_ns, f.rows, arrivals);
  for (int w = 0; w < ffn_count(); ++w) {
    if (!members[w]) continue;
    if (sink.operation) {
      timeline("F", w, "a2f", "receive", f.demand.target, std::max(f.a2f_ready_ns, received_until[w]), arrivals[w]);
      received_until[w] = arrivals[w];
    }
    events.push(clock.notices('F', w, FaultClock::Lane::message, std::max(now(), arrivals[w])),
                caused(EventKind::rows, w, serial));
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
  events.push(now() + options.pipeline_cost.scheduler_ns, caused(EventKind::planned, 0, serial));
}

bool SimHost::Impl::publish(const Target& target) {
  if (ring.full()) return false;
  const std::int64_t serial = serial_of(target);
  Flight& f = flight(serial);
  ring.publish(f.plan);
  f.published = true;
  for (int w = 0; w < ffn_count(); ++w)
    if (members[w])
      events.push(clock.notices('F', w, FaultClock::Lane::plan, now() + options.pipeline_cost.control_latency_ns),
                  caused(EventKind::plan_available, w, serial));
  if (f.a2f_joined == attention_count()) start_a2f(f);
  return true;
}

void SimHost::Impl::release_copy(int worker, const CopyId& id, bool receives) {
  const Nanos held = receives ? clock.held_until(worker, now()) : now();
  if (held > now()) {
    events.push(held, caused(EventKind::copy_released, worker, id.serial, id.index, true));
    return;
  }
  std::vector<CopyId> started;
  ports.release(id, receives, started);
  start_copies(started);
}

void SimHost::Impl::start_copies(const std::vector<CopyId>& started) {
  for (const CopyId& id : started) {
    const Copy& copy = ports.copy(id);
    if (!alive[copy.from] || !alive[copy.to]) continue;  // it hangs until the loss is noticed
    ffn[copy.to].on_copy_started(now(), id);
    metrics.copies().on_started(now());
    if (sink.operation) running_copies[id] = now();
    const Nanos usual = copy_ns(options.layer_cost, options.cluster.workers, copy.from, copy.to);
    const Nanos ns = static_cast<Nanos>(static_cast<double>(usual) * clock.slowdown(now()));
    events.push(now() + ns, caused(EventKind::copy_done, copy.to, id.serial, id.index));
    if (shares_links()) traffic.started(id, copy, now(), transfers->ahead_of_copy(copy.from, copy.to, now()));
  }
}

void SimHost::Impl::send_outputs(int worker, const Target& target) {
  Flight& f = flight(serial_of(target));
  transfers->slow_down(clock.slowdown(now()));
  const Nanos sent = transfers->send_back(worker, now(), f.rows);
  if (sink.operation) {
    timeline("F", worker, "f2a", "send", target, std::max(now(), sent_until[worker]), sent);
    sent_until[worker] = sent;
  }
  f.f2a_last_start_ns = std::max(f.f2a_last_start_ns, now());
  f.f2a_last_sent_ns = std::max(f.f2a_last_sent_ns, sent);
  if (++f.f2a_joined == member_count) return_outputs(f);
}

void SimHost::Impl::return_outputs(Flight& f) {
  f.returned = true;
  metrics.count_plan(*f.plan, f.yard);
  transfers->arrive_back(f.f2a_last_start_ns, f.f2a_last_sent_ns, f.rows, arrivals);
  for (int a = 0; a < attention_count(); ++a)
    events.push(clock.notices('A', a, FaultClock::Lane::message, arrivals[a]),
                caused(EventKind::outputs, a, f.plan->serial));
}

void SimHost::Impl::report(int worker, const Target& target, const pipeline::WorkerTimes& times) {
  Observed observed;
  if (metrics.on_times(*flight(serial_of(target)).plan, worker, times, member_count, observed) && sink.observed)
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

void SimHost::wake_at(Nanos at_ns) { impl_->events.push(at_ns, impl_->caused(EventKind::wake, 0, 0)); }

bool SimHost::advance() {
  if (impl_->events.empty()) return false;
  impl_->handle(impl_->events.pop());
  return true;
}

Nanos SimHost::now() const { return impl_->now(); }
int SimHost::epoch() const { return impl_->epoch; }
Nanos SimHost::copying_ns() const { return impl_->metrics.copies().copying_ns(now()); }

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
  if (impl_->options.topology == Topology::colocated) summary.notes["topology"] = "colocated";
  if (impl_->options.dispatch == Dispatch::broadcast) summary.notes["dispatch"] = "broadcast";
  if (!impl_->clock.any()) return summary;
  // Both ends of that scale have all workers.
  if (impl_->epoch > 0) summary.gain_captured = summary.gain_captured_tiles = std::nullopt;
  std::string faults;
  for (const Fault& fault : impl_->clock.faults()) faults += (faults.empty() ? "" : ",") + to_string(fault);
  summary.notes["faults"] = faults;
  summary.notes["epochs"] = std::to_string(impl_->epoch + 1);
  summary.notes["redone_targets"] = std::to_string(impl_->redone_targets);
  summary.notes["abandoned_copies"] = std::to_string(impl_->abandoned_copies);
  summary.notes["reloaded_experts"] = std::to_string(impl_->reloaded_experts);
  return summary;
}

}  // namespace afore::host
