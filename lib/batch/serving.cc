#include "batch/serving.h"

#include <algorithm>
#include <utility>

#include "util/error.h"

namespace afore::batch {

const char* to_string(Refusal refusal) {
  switch (refusal) {
    case Refusal::none: return "none";
    case Refusal::queue_full: return "queue_full";
    case Refusal::queue_time: return "queue_time";
    case Refusal::kv_budget: return "kv_budget";
  }
  return "";
}

ServingBatcher::ServingBatcher(const ServingOptions& options)
    : options_(options), microbatches_(options.microbatches), workers_(options.attention_workers) {
  AFORE_CHECK(options.microbatches > 0 && options.attention_workers > 0, "nobody to serve requests");
  AFORE_CHECK(options.max_num_seqs > 0 && options.max_num_batched_tokens >= options.max_num_seqs,
              "a step has less room than its decoding requests need");
  for (Worker& worker : workers_) worker.by_microbatch.assign(options.microbatches, 0);
  for (Microbatch& microbatch : microbatches_)
    microbatch.step.per_attention_worker.assign(options.attention_workers, 0);
}

std::int64_t ServingBatcher::kv_tokens_of(const Served& request) {
  const std::int64_t tokens = request.prompt_tokens + request.output_tokens;
  return (tokens + kKvBlockTokens - 1) / kKvBlockTokens * kKvBlockTokens;
}

// When a queued request is given up: the wait it may have, or its whole time.
Nanos ServingBatcher::wait_ends(const Served& request) const {
  const Nanos wait = options_.max_queue_ns, whole = options_.timeout_ns;
  if (wait == kNever && whole == kNever) return kNever;
  if (wait == kNever || whole == kNever) return request.arrival_ns + std::max(wait, whole);
  return request.arrival_ns + std::min(wait, whole);
}

// All wait equally long, so those whose time is over stand at the head.
void ServingBatcher::expire(Nanos now) {
  while (!queue_.empty()) {
    const int slot = queue_.front();
    const Nanos end = wait_ends(slots_[slot]);
    if (end == kNever || now < end) return;
    const bool timed_out = end == slots_[slot].arrival_ns + options_.timeout_ns;
    given_up_.push_back({slot, end, timed_out ? Refusal::none : Refusal::queue_time});
    queue_.pop_front();
  }
}

ServingBatcher::Offer ServingBatcher::offer(Nanos arrival_ns, std::int64_t prompt_tokens, std::int64_t output_tokens) {
  AFORE_CHECK(arrival_ns >= last_arrival_ns_ && prompt_tokens > 0 && output_tokens > 0, "requests arrive in order");
  last_arrival_ns_ = arrival_ns;
  expire(arrival_ns);
  Served request;
  request.arrival_ns = arrival_ns;
  request.prompt_tokens = prompt_tokens;
  request.output_tokens = output_tokens;
  if (kv_tokens_of(request) > options_.kv_budget_tokens) return {-1, Refusal::kv_budget};
  if (queued() >= options_.max_queue) return {-1, Refusal::queue_full};
  int slot = static_cast<int>(slots_.size());
  if (free_slots_.empty()) {
    slots_.push_back(request);
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
    slots_[slot] = request;
  }
  queue_.push_back(slot);
  return {slot, Refusal::none};
}

void ServingBatcher::leave(int slot) {
  const Served& request = slots_[slot];
  Worker& worker = workers_[request.attention_worker];
  worker.reserved -= kv_tokens_of(request);
  worker.by_microbatch[request.microbatch] -= 1;
  AFORE_CHECK(worker.reserved >= 0 && worker.by_microbatch[request.microbatch] >= 0, "more left than was admitted");
  running_ -= 1;
}

void ServingBatcher::expire_running(Nanos now, Microbatch& microbatch) {
  if (options_.timeout_ns == kNever) return;
  std::erase_if(microbatch.running, [&](int slot) {
    if (now < slots_[slot].arrival_ns + options_.timeout_ns) return false;
    given_up_.push_back({slot, now, Refusal::none});
    leave(slot);
    return true;
  });
}

bool ServingBatcher::admit_head(Nanos now, int microbatch) {
  Microbatch& mine = microbatches_[microbatch];
  const auto size = static_cast<std::int64_t>(mine.running.size());
  const std::int64_t all = running_ + queued();
  const std::int64_t share = (all + options_.microbatches - 1) / options_.microbatches;
  if (size >= options_.max_num_seqs || size >= share) return false;
  const int slot = queue_.front();
  Served& request = slots_[slot];
  const std::int64_t need = kv_tokens_of(request);
  Worker* best = nullptr;
  for (Worker& worker : workers_) {
    if (worker.reserved + need > options_.kv_budget_tokens) continue;
    const std::int64_t mates = worker.by_microbatch[microbatch];
    if (best == nullptr || mates < best->by_microbatch[microbatch] ||
        (mates == best->by_microbatch[microbatch] && worker.reserved < best->reserved))
      best = &worker;
  }
  if (best == nullptr) return false;
  best->reserved += need;
  best->by_microbatch[microbatch] += 1;
  request.admitted_ns = std::max(now, request.arrival_ns);
  request.microbatch = microbatch;
  request.attention_worker = static_cast<int>(best - workers_.data());
  mine.running.push_back(slot);
  mine.step.admitted.push_back(slot);
  running_ += 1;
  queue_.pop_front();
  return true;
}

void ServingBatcher::add_chunk(int slot, std::int64_t tokens, ServingStep& step) {
  const Served& request = slots_[slot];
  const bool prompt = request.computed < request.prompt_tokens;
  step.chunks.push_back(
      {slot, request.computed, tokens, request.computed + tokens >= request.prompt_tokens, request.attention_worker});
  step.tokens += tokens;
  if (prompt) step.prefill_tokens += tokens;
  step.kv_tokens += request.computed;
  step.per_attention_worker[request.attention_worker] += 1;
}

const ServingStep& ServingBatcher::compose(Nanos now, int microbatch) {
  Microbatch& mine = microbatches_[microbatch];
  AFORE_CHECK(!mine.composed, "a step is composed before the last one is complete");
  ServingStep& step = mine.step;
  step.chunks.clear();
  step.admitted.clear();
  step.tokens = step.prefill_tokens = step.kv_tokens = 0;
  std::fill(step.per_attention_worker.begin(), step.per_attention_worker.end(), 0);
  expire(now);
  expire_running(now, mine);

  for (const int slot : mine.running)
    if (slots_[slot].computed >= slots_[slot].prompt_tokens) add_chunk(slot, 1, step);
  const auto prefill = [&](int slot) {
    const Served& request = slots_[slot];
    const std::int64_t room = options_.max_num_batched_tokens - step.tokens;
    const std::int64_t tokens = std::min(room, request.prompt_tokens - request.computed);
    if (tokens > 0) add_chunk(slot, tokens, step);
  };
  for (const int slot : mine.running)
    if (slots_[slot].computed < slots_[slot].prompt_tokens) prefill(slot);
  while (!queue_.empty() && step.tokens < options_.max_num_batched_tokens && admit_head(now, microbatch))
    prefill(mine.running.back());
  mine.composed = !step.chunks.empty();
  AFORE_CHECK(step.tokens <= options_.max_num_batched_tokens, "a step is over its budget");
  AFORE_CHECK(mine.composed || mine.running.empty(), "a microbatch with requests has an empty step");
  return step;
}

const Chunk* ServingBatcher::chunk_under_way(int slot) const {
  if (slots_[slot].microbatch < 0) return nullptr;
  const Microbatch& mine = microbatches_[slots_[slot].microbatch];
  if (!mine.composed) return nullptr;
  const auto chunk = std::find_if(mine.step.chunks.begin(), mine.step.chunks.end(),
                                  [&](const Chunk& candidate) { return candidate.slot == slot; });
  return chunk == mine.step.chunks.end() ? nullptr : &*chunk;
}

void ServingBatcher::stop(int slot) {
  const Chunk* chunk = chunk_under_way(slot);
  AFORE_CHECK(chunk != nullptr && chunk->samples, "a request is stopped that samples no token now");
  slots_[slot].stopped = true;
}

std::span<const int> ServingBatcher::complete(int microbatch) {
  Microbatch& mine = microbatches_[microbatch];
  AFORE_CHECK(mine.composed, "a step is complete that was not composed");
  mine.composed = false;
  mine.finished.clear();
  const auto ended = [&](int slot) {
    const Served& request = slots_[slot];
    return request.cancelled || request.stopped || request.sampled == request.output_tokens;
  };
  bool any = false;
  for (const Chunk& chunk : mine.step.chunks) {
    Served& request = slots_[chunk.slot];
    request.computed += chunk.tokens;
    request.sampled += chunk.samples ? 1 : 0;
    if (!ended(chunk.slot)) continue;
    any = true;
    if (!request.cancelled) mine.finished.push_back(chunk.slot);
  }
  if (!any) return mine.finished;
  std::erase_if(mine.running, ended);
  for (const Chunk& chunk : mine.step.chunks) {
    if (!ended(chunk.slot)) continue;
    leave(chunk.slot);
    if (slots_[chunk.slot].cancelled) release(chunk.slot);
  }
  return mine.finished;
}

bool ServingBatcher::cancel(int slot) {
  Served& request = slots_[slot];
  AFORE_CHECK(!request.cancelled, "a request is cancelled twice");
  if (request.microbatch < 0) {
    const auto queued = std::find(queue_.begin(), queue_.end(), slot);
    AFORE_CHECK(queued != queue_.end(), "a request is cancelled that has ended");
    queue_.erase(queued);
  } else if (chunk_under_way(slot) != nullptr) {
    request.cancelled = true;
    return false;
  } else {
    const auto ended = std::erase(microbatches_[request.microbatch].running, slot);
    AFORE_CHECK(ended == 1, "a request is cancelled that has ended");
    leave(slot);
  }
  request.cancelled = true;
  release(slot);
  return true;
}

std::vector<GivenUp> ServingBatcher::take_given_up() { return std::exchange(given_up_, {}); }

void ServingBatcher::release(int slot) { free_slots_.push_back(slot); }

}  // namespace afore::batch
