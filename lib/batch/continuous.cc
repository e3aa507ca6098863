#include "batch/continuous.h"

#include "util/error.h"

namespace afore::batch {

ContinuousComposer::ContinuousComposer(std::span<const Request> requests, PhaseSchedule schedule,
                                       const ContinuousOptions& options)
    : schedule_(std::move(schedule)),
      options_(options),
      queue_(requests, schedule_.pool_count()),
      stagger_(options.seed, "batch/stagger"),
      offset_(options.seed, "batch/repeat offset"),
      slots_(options.concurrent),
      steps_(options.microbatches) {
  AFORE_CHECK(options.microbatches > 0 && options.concurrent >= options.microbatches, "a microbatch without requests");
}

// Puts the next request of the slot's pool into it.
void ContinuousComposer::refill(std::size_t slot, bool staggered) {
  const std::vector<int>& pools = schedule_.pools_at(step_);
  const std::size_t within = slot / steps_.size(), microbatch = slot % steps_.size();
  const auto [request, repeat] = queue_.take(pools[(within + microbatch) % pools.size()]);
  Slot& s = slots_[slot];
  s.request = request;
  s.start_row = repeat ? static_cast<std::int64_t>(offset_.below(request->tokens)) : 0;
  s.generated = staggered ? static_cast<std::int64_t>(stagger_.below(request->tokens)) : 0;
  s.id = next_id_++;
  s.fresh = true;
}

// One token of the slot's request.
void ContinuousComposer::run(Slot& slot, MicrobatchStep& out) {
  const Request& request = *slot.request;
  out.rows.push_back({request.pool, request.first_row + (slot.start_row + slot.generated) % request.tokens});
  out.requests.push_back({slot.id, request.prompt_tokens + slot.generated, 1});
  out.kv_tokens += request.prompt_tokens + slot.generated;
  ++out.sequences;
  if (slot.fresh) out.admitted.push_back(slot.id);
  slot.fresh = false;
  ++slot.generated;
}

std::span<const MicrobatchStep> ContinuousComposer::next_step() {
  for (MicrobatchStep& out : steps_) {
    out.rows.clear();
    out.requests.clear();
    out.admitted.clear();
    out.finished.clear();
    out.sequences = out.kv_tokens = 0;
  }
  const bool abrupt = options_.change == PhaseChange::abrupt;
  const bool start = step_ == 0 || (abrupt && schedule_.changes_at(step_));
  const bool end = abrupt && schedule_.changes_at(step_ + 1);
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    Slot& slot = slots_[s];
    if (start) refill(s, /*staggered=*/true);
    else if (slot.generated == slot.request->tokens) refill(s, /*staggered=*/false);
    MicrobatchStep& out = steps_[s % steps_.size()];
    run(slot, out);
    if (end || slot.generated == slot.request->tokens) out.finished.push_back(slot.id);
  }
  ++step_;
  return steps_;
}

}  // namespace afore::batch
