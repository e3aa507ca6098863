#include "batch/prefill.h"

#include <algorithm>

#include "util/error.h"

namespace afore::batch {

PrefillComposer::PrefillComposer(std::span<const Request> requests, PhaseSchedule schedule,
                                 const PrefillOptions& options)
    : schedule_(std::move(schedule)),
      options_(options),
      queue_(requests, schedule_.pool_count()),
      steps_(options.microbatches) {
  AFORE_CHECK(options.microbatches > 0 && options.chunk_tokens > 0, "an empty chunk");
}

void PrefillComposer::admit() {
  const std::vector<int>& pools = schedule_.pools_at(step_);
  current_ = queue_.take(pools[turn_++ % pools.size()]).request;
  position_ = 0;
  ++id_;
}

void PrefillComposer::fill(MicrobatchStep& out, bool last_of_phase) {
  out.rows.clear();
  out.requests.clear();
  out.admitted.clear();
  out.finished.clear();
  out.sequences = out.kv_tokens = 0;
  out.prefill_tokens = options_.chunk_tokens;
  std::int64_t room = options_.chunk_tokens;
  while (room > 0) {
    if (current_ == nullptr) {
      admit();
      out.admitted.push_back(id_);
    }
    ++out.sequences;
    out.kv_tokens += position_;
    const std::int64_t take = std::min(room, current_->tokens - position_);
    for (std::int64_t i = 0; i < take; ++i) out.rows.push_back({current_->pool, current_->first_row + position_ + i});
    out.requests.push_back({id_, position_, take});
    position_ += take;
    room -= take;
    const bool cut_short = last_of_phase && room == 0;
    if (position_ == current_->tokens || cut_short) {
      out.finished.push_back(id_);
      current_ = nullptr;
    }
  }
}

std::span<const MicrobatchStep> PrefillComposer::next_step() {
  if (schedule_.changes_at(step_)) turn_ = 0;
  const bool change_follows = schedule_.changes_at(step_ + 1);
  for (std::size_t m = 0; m < steps_.size(); ++m) fill(steps_[m], change_follows && m + 1 == steps_.size());
  ++step_;
  return steps_;
}

}  // namespace afore::batch
