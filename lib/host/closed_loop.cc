#include "host/closed_loop.h"

#include <algorithm>
#include <string>
#include <utility>

#include "pipeline/yardstick.h"
#include "util/error.h"

namespace afore::host {
namespace {

using batch::Chunk;
using batch::ServingStep;

// What the batcher need not know of an open request, by its slot.
struct Open {
  IncomingRequest request;
  Nanos first_token_ns = batch::kNever, last_token_ns = batch::kNever;
  Nanos copying_ns = 0;  // how long copies had been under way at the last token
};

struct PlannedLater {  // a target on its way to the scheduler
  std::optional<Batch> batch;
  Demand demand;
};

}  // namespace

struct ClosedLoop::Impl {
  Impl(const ClosedLoopOptions& o, ClosedLoopSink s)
      : options(o),
        sink(std::move(s)),
        batcher(o.serving),
        metrics(o.objectives),
        yardstick(o.sim.cluster, o.sim.layer_cost, o.planner.limits.objective),
        plans(pipeline::live_plans(o.sim.model, o.sim.cluster, o.sim.layer_cost, o.planner,
                                   [this](const pipeline::PlannedTarget& planned) { on_planned(planned); })),
        host(o.sim, *plans, sim_sink()),
        rows(o.serving.microbatches),
        phases(o.serving.microbatches, Phase::decode),
        batches(o.serving.microbatches),
        begun(o.serving.microbatches, false),
        in_step(o.serving.microbatches, false),
        sampled(o.serving.microbatches, false) {
    row_bytes = o.sim.model.moe_layers.size() * static_cast<std::size_t>(o.sim.model.top_k);
  }

  SimSink sim_sink() {
    SimSink to;
    to.observed = sink.observed;
    to.operation = sink.operation;
    to.membership = sink.membership;
    to.step_done = [this](std::int64_t, int microbatch) { sampled[microbatch] = true; };
    return to;
  }

  bool ended() const { return options.end_ns && host.now() >= *options.end_ns; }
  bool stopped() const { return *stop != 0 || ended(); }
  void run();
  bool take_turn();
  void read_ahead();
  void take_arrivals(Nanos until);
  void take_given_up();
  bool wait_for_sampling(int microbatch);
  void take_tokens(int microbatch);
  bool begin_step(int microbatch);
  void enqueue(int microbatch, std::size_t layer);
  void wait_for_arrival();
  void complete(Completion completion, Nanos arrival_ns, Nanos first_token_ns, Nanos finished_ns) const;
  void close(int slot, Nanos now, const char* finish_reason, const char* reject_reason);
  void on_planned(const pipeline::PlannedTarget& planned);
  Batch batch_record(const ServingStep& composed, int microbatch) const;

  ClosedLoopOptions options;
  ClosedLoopSink sink;
  batch::ServingBatcher batcher;
  pipeline::RequestMetrics metrics;
  pipeline::Yardstick yardstick;
  std::unique_ptr<pipeline::PlanSource> plans;
  SimHost host;
  NextRequest next;
  const volatile int* stop = nullptr;

  std::optional<IncomingRequest> ahead;  // the one that arrives next
  Nanos last_arrival_ns = 0;
  std::vector<Open> open;  // by the batcher's slot
  std::int64_t step = 0;
  std::size_t row_bytes = 0;
  std::vector<std::vector<const std::uint8_t*>> rows;  // of each microbatch's step, one per token
  std::vector<Phase> phases;
  std::vector<Batch> batches;
  std::vector<bool> begun, in_step, sampled;  // in this turn; not yet ended; its last step
  std::deque<PlannedLater> to_plan;
  std::optional<Nanos> cut_ns;  // where the run was ended
};

void ClosedLoop::Impl::read_ahead() {
  IncomingRequest request;
  ahead.reset();
  if (!next(request)) return;
  AFORE_CHECK(request.record.arrival_ns >= last_arrival_ns, "requests come in the order of their arrival");
  last_arrival_ns = request.record.arrival_ns;
  ahead = std::move(request);
}

// Everybody who arrives up to then.
void ClosedLoop::Impl::take_arrivals(Nanos until) {
  while (ahead && ahead->record.arrival_ns <= until) {
    const RequestRecord& record = ahead->record;
    metrics.on_arrival();
    const auto offer = batcher.offer(record.arrival_ns, record.prompt_tokens, record.output_tokens);
    if (offer.slot < 0) {
      metrics.on_rejected(offer.refusal != batch::Refusal::kv_budget);
      complete({record.id, record.prompt_tokens, 0, "rejected", {}, "", batch::to_string(offer.refusal), {}},
               record.arrival_ns, batch::kNever, record.arrival_ns);
    } else {
      if (open.size() <= static_cast<std::size_t>(offer.slot)) open.resize(offer.slot + 1);
      open[offer.slot] = {std::move(*ahead)};
    }
    take_given_up();
    read_ahead();
  }
}

void ClosedLoop::Impl::take_given_up() {
  for (const batch::GivenUp& gone : batcher.take_given_up()) {
    const bool timed_out = gone.refusal == batch::Refusal::none;
    if (timed_out) metrics.on_timed_out();
    else metrics.on_rejected(true);
    close(gone.slot, gone.at_ns, timed_out ? "timeout" : "rejected", timed_out ? "" : batch::to_string(gone.refusal));
  }
  metrics.check(batcher.queued(), batcher.running());
}

void ClosedLoop::Impl::complete(Completion completion, Nanos arrival_ns, Nanos first_token_ns,
                                Nanos finished_ns) const {
  CompletionTimes& times = completion.times.emplace();
  times.arrival_ns = arrival_ns;
  if (first_token_ns != batch::kNever) times.first_token_ns = first_token_ns;
  times.finished_ns = finished_ns;
  if (sink.completion) sink.completion(completion);
}

void ClosedLoop::Impl::close(int slot, Nanos now, const char* finish_reason, const char* reject_reason) {
  Open& mine = open[slot];
  const batch::Served& served = batcher.at(slot);
  complete({mine.request.record.id, served.prompt_tokens, served.sampled, finish_reason, {}, "", reject_reason, {}},
           served.arrival_ns, mine.first_token_ns, now);
  mine = {};
  batcher.release(slot);
}

// False when the run stops before.
bool ClosedLoop::Impl::wait_for_sampling(int microbatch) {
  sampled[microbatch] = false;
  host.end_step(microbatch);
  while (!sampled[microbatch]) {
    if (stopped()) return false;
    AFORE_CHECK(host.advance(), "a step is never sampled");
  }
  return !stopped();
}

void ClosedLoop::Impl::take_tokens(int microbatch) {
  const Nanos now = host.now();
  const std::span<const int> finished = batcher.complete(microbatch);
  for (const Chunk& chunk : batcher.step(microbatch).chunks) {
    if (!chunk.samples) continue;
    Open& mine = open[chunk.slot];
    if (mine.first_token_ns == batch::kNever) mine.first_token_ns = now;
    else metrics.on_gap(now - mine.last_token_ns, host.copying_ns() > mine.copying_ns);
    mine.last_token_ns = now;
    mine.copying_ns = host.copying_ns();
  }
  for (const int slot : finished) {
    const batch::Served& served = batcher.at(slot);
    metrics.on_completed({served.arrival_ns, served.admitted_ns, open[slot].first_token_ns, now, served.prompt_tokens,
                          served.output_tokens});
    close(slot, now, "length", "");
  }
  metrics.check(batcher.queued(), batcher.running());
}

Batch ClosedLoop::Impl::batch_record(const ServingStep& composed, int microbatch) const {
  Batch record;
  record.step = step;
  record.microbatch = microbatch;
  record.sequences = static_cast<std::int64_t>(composed.chunks.size());
  record.prefill_tokens = composed.prefill_tokens;
  record.kv_tokens = composed.kv_tokens;
  record.per_attention_worker = composed.per_attention_worker;
  for (const int slot : composed.admitted) record.admitted.push_back(open[slot].request.record.id);
  for (const Chunk& chunk : composed.chunks) {
    const batch::Served& served = batcher.at(chunk.slot);
    if (chunk.samples && served.sampled + 1 == served.output_tokens)
      record.finished.push_back(open[chunk.slot].request.record.id);
  }
  return record;
}

// Composes the microbatch's step and starts its first layer; false when it has nothing to do.
bool ClosedLoop::Impl::begin_step(int microbatch) {
  const ServingStep& composed = batcher.compose(host.now(), microbatch);
  take_given_up();
  if (composed.chunks.empty()) return false;
  std::vector<const std::uint8_t*>& tokens = rows[microbatch];
  tokens.clear();
  for (const Chunk& chunk : composed.chunks) {
    const IncomingRequest& request = open[chunk.slot].request;
    const SequenceRecord& sequence = *request.sequence;
    std::int64_t row = (request.record.offset + chunk.first) % sequence.tokens;
    for (std::int64_t i = 0; i < chunk.tokens; ++i) {
      tokens.push_back(sequence.experts.data() + static_cast<std::size_t>(row) * row_bytes);
      if (++row == sequence.tokens) row = 0;
    }
  }
  phases[microbatch] = composed.prefill_tokens == 0                 ? Phase::decode
                       : composed.prefill_tokens == composed.tokens ? Phase::prefill
                                                                    : Phase::mixed;
  batches[microbatch] = batch_record(composed, microbatch);
  enqueue(microbatch, 0);
  return true;
}

void ClosedLoop::Impl::enqueue(int microbatch, std::size_t layer) {
  const ModelSpec& model = options.sim.model;
  PlannedLater& later = to_plan.emplace_back();
  if (layer == 0) later.batch = batches[microbatch];
  Demand& demand = later.demand;
  demand.target = {step, model.moe_layers[layer], microbatch};
  demand.phase = phases[microbatch];
  demand.tokens = static_cast<std::int64_t>(rows[microbatch].size());
  demand.counts.assign(static_cast<std::size_t>(model.experts), 0);
  const std::size_t from = layer * static_cast<std::size_t>(model.top_k), to = from + model.top_k;
  for (const std::uint8_t* row : rows[microbatch])
    for (std::size_t k = from; k < to; ++k) ++demand.counts[row[k]];
  host.enqueue(demand, &batches[microbatch], yardstick.measure(demand));
}

void ClosedLoop::Impl::on_planned(const pipeline::PlannedTarget& planned) {
  if (host.epoch() > 0 && (to_plan.empty() || to_plan.front().demand.target != planned.plan.target)) {
    if (sink.replanned) sink.replanned(planned);
    return;
  }
  AFORE_CHECK(!to_plan.empty() && to_plan.front().demand.target == planned.plan.target, "plans come in stream order");
  const PlannedLater& first = to_plan.front();
  if (sink.planned) sink.planned(first.batch ? &*first.batch : nullptr, first.demand, planned);
  to_plan.pop_front();
}

// One step of every microbatch that has work: each begins its own when its last one is sampled. False when there was
// nothing to do or the run stops.
bool ClosedLoop::Impl::take_turn() {
  bool any = false, going = true;
  for (std::size_t m = 0; m < in_step.size() && going; ++m) {
    const int microbatch = static_cast<int>(m);
    if (in_step[m]) {
      going = wait_for_sampling(microbatch);
      in_step[m] = false;
      if (!going) break;
      take_tokens(microbatch);
    }
    take_arrivals(host.now());
    begun[m] = in_step[m] = begin_step(microbatch);
    any = any || begun[m];
  }
  if (!any) return false;
  // A step that was begun is whole in the output, whenever the run stops.
  for (std::size_t layer = 1; layer < options.sim.model.moe_layers.size(); ++layer)
    for (std::size_t m = 0; m < begun.size(); ++m)
      if (begun[m]) enqueue(static_cast<int>(m), layer);
  std::fill(begun.begin(), begun.end(), false);
  ++step;
  return going;
}

// Nobody is queued or running.
void ClosedLoop::Impl::wait_for_arrival() {
  const Nanos at = options.end_ns ? std::min(ahead->record.arrival_ns, *options.end_ns) : ahead->record.arrival_ns;
  host.wake_at(std::max(at, host.now()));
  while (host.now() < at && *stop == 0) AFORE_CHECK(host.advance(), "time stands still");
}

void ClosedLoop::Impl::run() {
  read_ahead();
  while (!stopped()) {
    if (take_turn() || stopped()) continue;
    AFORE_CHECK(batcher.queued() == 0 && batcher.running() == 0, "requests wait for an idle pipeline");
    if (!ahead) break;
    wait_for_arrival();
  }
  if (ended()) {
    cut_ns = options.end_ns;
    take_arrivals(*options.end_ns);
    batcher.expire(*options.end_ns);
    take_given_up();
  }
  host.finish();
}

ClosedLoop::ClosedLoop(const ClosedLoopOptions& options, ClosedLoopSink sink)
    : impl_(std::make_unique<Impl>(options, std::move(sink))) {}
ClosedLoop::~ClosedLoop() = default;

bool ClosedLoop::run(const NextRequest& next, const volatile int* stop) {
  impl_->next = next;
  impl_->stop = stop;
  impl_->run();
  return *stop != 0;
}

Summary ClosedLoop::summary() const {
  Summary summary = impl_->host.summary();
  impl_->metrics.fill(summary, impl_->cut_ns);
  return summary;
}

}  // namespace afore::host
