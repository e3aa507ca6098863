#include "host/serving_loop.h"

#include <algorithm>

#include "util/error.h"

namespace afore::host {
namespace {

using batch::Chunk;
using batch::ServingStep;

Phase phase_of(const ServingStep& step) {
  if (step.prefill_tokens == 0) return Phase::decode;
  return step.prefill_tokens == step.tokens ? Phase::prefill : Phase::mixed;
}

}  // namespace

ServingLoop::ServingLoop(const ServingLoopOptions& options, StepRunner& runner,
                         std::function<void(const Completion&)> completion)
    : runner_(runner),
      completion_(std::move(completion)),
      layers_(options.layers),
      steps_(options.steps),
      max_open_(options.max_open),
      batcher_(options.serving),
      metrics_(options.objectives),
      begun_(options.serving.microbatches, false),
      in_step_(options.serving.microbatches, false) {
  limits_.end_ns = options.end_ns;
}

void ServingLoop::read_ahead() {
  IncomingRequest request;
  ahead_.reset();
  if (!next_(request)) return;
  AFORE_CHECK(request.record.arrival_ns >= last_arrival_ns_, "requests come in the order of their arrival");
  last_arrival_ns_ = request.record.arrival_ns;
  ahead_ = std::move(request);
}

// Everybody who arrives up to then and finds a place.
void ServingLoop::take_arrivals(Nanos until) {
  const Nanos place_since_ns = was_full_ ? until : 0;
  while (ahead_ && ahead_->record.arrival_ns <= until && !is_full()) {
    RequestRecord& record = ahead_->record;
    record.arrival_ns = std::max(record.arrival_ns, place_since_ns);
    metrics_.on_arrival();
    const auto offer = batcher_.offer(record.arrival_ns, record.prompt_tokens, record.output_tokens);
    if (offer.slot < 0) {
      metrics_.on_rejected(offer.refusal != batch::Refusal::kv_budget);
      answer({record.id, record.prompt_tokens, 0, "rejected", {}, "", batch::to_string(offer.refusal), {}},
             record.arrival_ns, batch::kNever, record.arrival_ns);
    } else {
      if (open_.size() <= static_cast<std::size_t>(offer.slot)) open_.resize(offer.slot + 1);
      open_[offer.slot] = {std::move(*ahead_)};
    }
    take_given_up();
    read_ahead();
  }
  was_full_ = is_full();
}

void ServingLoop::take_given_up() {
  for (const batch::GivenUp& gone : batcher_.take_given_up()) {
    const bool timed_out = gone.refusal == batch::Refusal::none;
    if (timed_out) metrics_.on_timed_out();
    else metrics_.on_rejected(true);
    close(gone.slot, gone.at_ns, timed_out ? "timeout" : "rejected", timed_out ? "" : batch::to_string(gone.refusal));
  }
  metrics_.check(batcher_.queued(), batcher_.running());
}

void ServingLoop::answer(Completion completion, Nanos arrival_ns, Nanos first_token_ns, Nanos finished_ns) const {
  CompletionTimes& times = completion.times.emplace();
  times.arrival_ns = arrival_ns;
  if (first_token_ns != batch::kNever) times.first_token_ns = first_token_ns;
  times.finished_ns = finished_ns;
  if (completion_) completion_(completion);
}

void ServingLoop::close(int slot, Nanos now, const char* finish_reason, const char* reject_reason) {
  Open& mine = open_[slot];
  const batch::Served& served = batcher_.at(slot);
  Completion completion{
      mine.request.record.id, served.prompt_tokens, served.sampled, finish_reason, {}, "", reject_reason, {}};
  const bool admitted = served.admitted_ns != batch::kNever;
  if (admitted) runner_.fill(slot, completion);
  answer(std::move(completion), served.arrival_ns, mine.first_token_ns, now);
  if (admitted) runner_.on_closed(slot);
  mine = {};
  batcher_.release(slot);
}

void ServingLoop::take_tokens(int microbatch) {
  const Nanos now = runner_.now(), copying_ns = runner_.copying_ns();
  for (const Chunk& chunk : batcher_.step(microbatch).chunks)
    if (chunk.samples && runner_.ends(chunk.slot)) batcher_.stop(chunk.slot);
  const std::span<const int> finished = batcher_.complete(microbatch);
  for (const Chunk& chunk : batcher_.step(microbatch).chunks) {
    if (!chunk.samples) continue;
    Open& mine = open_[chunk.slot];
    if (mine.first_token_ns == batch::kNever) mine.first_token_ns = now;
    else mine.gaps.emplace_back(now - mine.last_token_ns, copying_ns > mine.copying_ns);
    mine.last_token_ns = now;
    mine.copying_ns = copying_ns;
  }
  for (const int slot : finished) {
    const batch::Served& served = batcher_.at(slot);
    for (const auto& [gap_ns, migrating] : open_[slot].gaps) metrics_.on_gap(gap_ns, migrating);
    metrics_.on_completed(
        {served.arrival_ns, served.admitted_ns, open_[slot].first_token_ns, now, served.prompt_tokens, served.sampled});
    close(slot, now, served.stopped ? "stop" : "length", "");
  }
  metrics_.check(batcher_.queued(), batcher_.running());
}

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
  for (const int slot : composed.admitted) runner_.on_admitted(slot, open_[slot].request);
  runner_.begin_step(step_, microbatch, composed, batch_record(composed, microbatch), phase_of(composed));
  return true;
}

// One step of every microbatch that has work: each begins its own when its last one is sampled. False when there was
// nothing to do or the run stops.
bool ServingLoop::take_turn() {
  bool any = false, going = true;
  for (std::size_t m = 0; m < in_step_.size() && going; ++m) {
    const int microbatch = static_cast<int>(m);
    if (in_step_[m]) {
      going = runner_.wait_sampled(microbatch, limits_) && !stopped();
      in_step_[m] = false;
      if (!going) break;
      take_tokens(microbatch);
    }
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

bool ServingLoop::run(const NextRequest& next, const volatile int* stop) {
  next_ = next;
  limits_.stop = stop;
  read_ahead();
  while (!stopped()) {
    if (take_turn() || stopped()) continue;
    if (out_of_steps()) break;
    AFORE_CHECK(batcher_.queued() == 0 && batcher_.running() == 0, "requests wait for an idle pipeline");
    if (!ahead_) break;
    wait_for_arrival();
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
