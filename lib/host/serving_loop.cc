#include "host/serving_loop.h"

#include <algorithm>

#include "util/error.h"

namespace afore::host {
namespace {

using batch::Chunk;
using batch::ServingStep;
using pipeline::kNoTime;

static_assert(kNoTime == batch::kNever);

constexpr const char* kCancelled = "cancelled";
constexpr Nanos kForgetEveryNs = 60'000'000'000;  // a walk over the open requests

Phase phase_of(const ServingStep& step) {
  if (step.prefill_tokens == 0) return Phase::decode;
  return step.prefill_tokens == step.tokens ? Phase::prefill : Phase::mixed;
}

}  // namespace

ServingLoop::ServingLoop(const ServingLoopOptions& options, StepRunner& runner,
                         std::function<void(const Completion&)> completion, std::vector<ServingObserver*> observers)
    : runner_(runner),
      completion_(std::move(completion)),
      observers_(std::move(observers)),
      layers_(options.layers),
      steps_(options.steps),
      max_open_(options.max_open),
      batcher_(options.serving),
      metrics_(options.objectives, options.latency_sample),
      begun_(options.serving.microbatches, false),
      in_step_(options.serving.microbatches, false) {
  limits_.end_ns = options.end_ns;
}

// --- Arrivals

void ServingLoop::read_ahead() {
  ahead_.reset();
  if (source_ended_) return;
  IncomingRequest request;
  const RequestSource::Next next = source_->next(request);
  source_ended_ = next == RequestSource::Next::end;
  if (next != RequestSource::Next::request) return;
  AFORE_CHECK(request.record.arrival_ns >= last_arrival_ns_, "requests come in the order of their arrival");
  last_arrival_ns_ = request.record.arrival_ns;
  ahead_ = std::move(request);
}

// Everybody who arrives up to then and finds a place.
void ServingLoop::take_arrivals(Nanos until) {
  const Nanos place_since_ns = was_full_ ? until : 0;
  if (!ahead_) read_ahead();
  while (ahead_ && ahead_->record.arrival_ns <= until && !is_full()) {
    RequestRecord& record = ahead_->record;
    record.arrival_ns = std::max(record.arrival_ns, place_since_ns);
    metrics_.on_arrival();
    const auto offer = batcher_.offer(record.arrival_ns, record.prompt_tokens, record.output_tokens);
    if (offer.slot < 0) {
      metrics_.on_rejected(offer.refusal != batch::Refusal::kv_budget);
      answer({record.id, record.prompt_tokens, 0, "rejected", {}, "", batch::to_string(offer.refusal), {}},
             {record.arrival_ns, kNoTime, kNoTime, record.arrival_ns, record.prompt_tokens, 0});
    } else {
      if (open_.size() <= static_cast<std::size_t>(offer.slot)) open_.resize(offer.slot + 1);
      open_[offer.slot] = {true, std::move(*ahead_)};
    }
    take_given_up();
    read_ahead();
  }
  was_full_ = is_full();
}

// --- Ends

void ServingLoop::take_given_up() {
  for (const batch::GivenUp& gone : batcher_.take_given_up()) {
    const bool timed_out = gone.refusal == batch::Refusal::none;
    if (timed_out) metrics_.on_timed_out();
    else metrics_.on_rejected(true);
    close(gone.slot, gone.at_ns, timed_out ? "timeout" : "rejected", timed_out ? "" : batch::to_string(gone.refusal));
  }
  metrics_.check(batcher_.queued(), batcher_.running());
}

void ServingLoop::take_cancelled() {
  cancelled_.clear();
  source_->take_cancelled(cancelled_);
  for (const std::string& id : cancelled_) {
    cancel(id);
    metrics_.check(batcher_.queued(), batcher_.running());
  }
}

void ServingLoop::cancel(const std::string& id) {
  if (ahead_ && ahead_->record.id == id) {  // it counts as one that arrived
    const RequestRecord& record = ahead_->record;
    const Nanos now = std::max(runner_.now(), record.arrival_ns);
    metrics_.on_arrival();
    metrics_.on_cancelled();
    answer({id, record.prompt_tokens, 0, kCancelled, {}, "", "", {}},
           {record.arrival_ns, kNoTime, kNoTime, now, record.prompt_tokens, 0});
    ahead_.reset();
    return;
  }
  const auto mine = std::find_if(open_.begin(), open_.end(),
                                 [&](const Open& open) { return open.open && open.request.record.id == id; });
  if (mine == open_.end()) return;  // it has ended
  const int slot = static_cast<int>(mine - open_.begin());
  if (batcher_.at(slot).cancelled) return;  // told twice
  if (batcher_.cancel(slot)) close_cancelled(slot, runner_.now());
}

void ServingLoop::answer(Completion completion, const pipeline::RequestTimes& times) const {
  CompletionTimes& told = completion.times.emplace();
  told.arrival_ns = times.arrival_ns;
  if (times.first_token_ns != kNoTime) told.first_token_ns = times.first_token_ns;
  told.finished_ns = times.finished_ns;
  if (completion_ && completion.finish_reason != kCancelled) completion_(completion);
  for (ServingObserver* observer : observers_) observer->on_closed(completion, times);
}

void ServingLoop::close(int slot, Nanos now, const char* finish_reason, const char* reject_reason) {
  Open& mine = open_[slot];
  const batch::Served served = batcher_.at(slot);
  Completion completion{
      mine.request.record.id, served.prompt_tokens, served.sampled, finish_reason, {}, "", reject_reason, {}};
  const bool admitted = served.admitted_ns != batch::kNever;
  if (admitted && !served.cancelled) runner_.fill(slot, completion);
  answer(std::move(completion), {served.arrival_ns, admitted ? served.admitted_ns : kNoTime, mine.first_token_ns, now,
                                 served.prompt_tokens, served.sampled});
  if (admitted) runner_.on_closed(slot);
  mine = {};
  if (!served.cancelled) batcher_.release(slot);
}

// The batcher has let go of it.
void ServingLoop::close_cancelled(int slot, Nanos now) {
  metrics_.on_cancelled();
  close(slot, now, kCancelled, "");
}

// --- Tokens

void ServingLoop::note_token(int slot, Nanos now, Nanos copying_ns) {
  Open& mine = open_[slot];
  const bool first = mine.first_token_ns == kNoTime;
  const Nanos since_ns = now - (first ? batcher_.at(slot).arrival_ns : mine.last_token_ns);
  if (first) mine.first_token_ns = now;
  else mine.gaps.emplace_back(since_ns, copying_ns > mine.copying_ns);
  mine.last_token_ns = now;
  mine.copying_ns = copying_ns;
  for (ServingObserver* observer : observers_) observer->on_token(mine.request.record.id, first, since_ns);
}

void ServingLoop::take_tokens(int microbatch) {
  const Nanos now = runner_.now(), copying_ns = runner_.copying_ns();
  const ServingStep& step = batcher_.step(microbatch);
  for (const Chunk& chunk : step.chunks)
    if (chunk.samples && !batcher_.at(chunk.slot).cancelled && runner_.ends(chunk.slot)) batcher_.stop(chunk.slot);
  const std::span<const int> finished = batcher_.complete(microbatch);
  for (ServingObserver* observer : observers_)
    observer->on_step({step.prefill_tokens, step.tokens - step.prefill_tokens, std::ssize(step.chunks)});
  for (const Chunk& chunk : step.chunks)
    if (chunk.samples && !batcher_.at(chunk.slot).cancelled) note_token(chunk.slot, now, copying_ns);
  for (const int slot : finished) {
    const batch::Served& served = batcher_.at(slot);
    for (const auto& [gap_ns, migrating] : open_[slot].gaps) metrics_.on_gap(gap_ns, migrating);
    metrics_.on_completed(
        {served.arrival_ns, served.admitted_ns, open_[slot].first_token_ns, now, served.prompt_tokens, served.sampled});
    close(slot, now, served.stopped ? "stop" : "length", "");
  }
  for (const Chunk& chunk : step.chunks)
    if (batcher_.at(chunk.slot).cancelled) close_cancelled(chunk.slot, now);
  metrics_.check(batcher_.queued(), batcher_.running());
  forget_past(now);
}

void ServingLoop::forget_past(Nanos now) {
  if (now - forgotten_ns_ < kForgetEveryNs) return;
  forgotten_ns_ = now;
  Nanos oldest_ns = last_arrival_ns_;
  for (std::size_t slot = 0; slot < open_.size(); ++slot)
    if (open_[slot].open) oldest_ns = std::min(oldest_ns, batcher_.at(static_cast<int>(slot)).arrival_ns);
  metrics_.forget_before(oldest_ns);
}

// --- Steps

Batch ServingLoop::batch_record(const ServingStep& composed, int microbatch) const {
  Batch record;
  record.step = step_;
  record.microbatch = microbatch;
  record.sequences = static_cast<std::int64_t>(composed.chunks.size());
  record.prefill_tokens = composed.prefill_tokens;
  record.kv_tokens = composed.kv_tokens;
  record.sampled =
      std::count_if(composed.chunks.begin(), composed.chunks.end(), [](const Chunk& c) { return c.samples; });
  record.per_attention_worker = composed.per_attention_worker;
  for (const int slot : composed.admitted) record.admitted.push_back(open_[slot].request.record.id);
  for (const Chunk& chunk : composed.chunks) {  // those whose end is known beforehand
    const batch::Served& served = batcher_.at(chunk.slot);
    if (chunk.samples && served.sampled + 1 == served.output_tokens)
      record.finished.push_back(open_[chunk.slot].request.record.id);
  }
  return record;
}

// Composes the microbatch's step and starts its first layer; false when it has nothing to do.
bool ServingLoop::begin_step(int microbatch) {
  const ServingStep& composed = batcher_.compose(runner_.now(), microbatch);
  take_given_up();
  if (composed.chunks.empty()) return false;
  for (const int slot : composed.admitted) {
    const batch::Served& served = batcher_.at(slot);
    runner_.on_admitted(slot, open_[slot].request);
    for (ServingObserver* observer : observers_)
      observer->on_admitted(open_[slot].request.record.id, served.admitted_ns - served.arrival_ns);
  }
  runner_.begin_step(step_, microbatch, composed, batch_record(composed, microbatch), phase_of(composed));
  return true;
}

// One step of every microbatch that has work: each begins its own when its last one is sampled. False when there was
// nothing to do or the run stops.
bool ServingLoop::take_turn() {
  bool any = false, going = true;
  for (std::size_t m = 0; m < in_step_.size() && going; ++m) {
    const int microbatch = static_cast<int>(m);
    const bool sampled = in_step_[m];
    if (sampled) {
      going = runner_.wait_sampled(microbatch, limits_) && !stopped();
      in_step_[m] = false;
      if (!going) break;
    }
    take_cancelled();  // before the step ends that a request leaves with
    if (sampled) take_tokens(microbatch);
    if (out_of_steps()) continue;
    take_arrivals(runner_.now());
    begun_[m] = in_step_[m] = begin_step(microbatch);
    any = any || begun_[m];
  }
  if (!any) return false;
  // A step that was begun is whole in the output, whenever the run stops.
  for (std::size_t layer = 1; layer < layers_; ++layer)
    for (std::size_t m = 0; m < begun_.size(); ++m)
      if (begun_[m]) runner_.next_layer(static_cast<int>(m), layer);
  std::fill(begun_.begin(), begun_.end(), false);
  ++step_;
  return going;
}

// Nobody is queued or running.
void ServingLoop::wait_for_arrival() {
  const Nanos arrival_ns = ahead_->record.arrival_ns;
  runner_.wait_until(limits_.end_ns ? std::min(arrival_ns, *limits_.end_ns) : arrival_ns, limits_);
}

// Nor is it known who comes next.
void ServingLoop::wait_for_source() {
  runner_.on_idle();
  source_->wait();
}

void ServingLoop::tell_load() {
  if (observers_.empty()) return;
  const batch::ServingOptions& options = batcher_.options();
  kv_blocks_used_.clear();
  for (int a = 0; a < options.attention_workers; ++a)
    kv_blocks_used_.push_back(batcher_.kv_reserved(a) / batch::kKvBlockTokens);
  const ServingLoad load{batcher_.queued(), batcher_.running(), kv_blocks_used_,
                         options.kv_budget_tokens / batch::kKvBlockTokens};
  for (ServingObserver* observer : observers_) observer->on_load(load);
}

bool ServingLoop::run(RequestSource& source, const StopFlag* stop) {
  source_ = &source;
  limits_.stop = stop;
  read_ahead();
  while (!stopped()) {
    const bool busy = take_turn();
    tell_load();
    if (busy || stopped()) continue;
    if (out_of_steps()) break;
    AFORE_CHECK(batcher_.queued() == 0 && batcher_.running() == 0, "requests wait for an idle pipeline");
    if (ahead_) wait_for_arrival();
    else if (source_ended_) break;
    else wait_for_source();
  }
  if (ended()) {
    cut_ns_ = limits_.end_ns;
    take_arrivals(*limits_.end_ns);
    batcher_.expire(*limits_.end_ns);
    take_given_up();
  }
  if (out_of_steps()) cut_ns_ = runner_.now();
  runner_.finish();
  return *stop != 0;
}

void ServingLoop::fill(Summary& summary) const { metrics_.fill(summary, cut_ns_); }

}  // namespace afore::host
