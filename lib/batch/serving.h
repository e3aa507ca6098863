#pragma once
// Continuous batching of arriving requests, as serving engines do it: which requests run, and what each microbatch
// computes in its next step. Pure: times come in, nothing here reads a clock.
//
// Rules.
// - First come, first served. A request waits in one queue until a microbatch takes it; it stays in that microbatch,
//   and with one attention worker, to its end.
// - A microbatch composes a step: one token for each request that decodes, the rest of its token budget for prompts,
//   in the order of admission, cut where the budget ends (chunked prefill). While budget, sequences and KV memory are
//   left it admits the head of the queue; so a prompt that could not be computed yet waits in the queue, not in memory.
// - Even microbatches: one admits only up to its share of all requests, ceil((running + queued) / microbatches).
// - Admission reserves KV memory for prompt and output, in blocks, on one attention worker: of those with room the one
//   with the fewest requests of this microbatch, then with the most free memory. Nothing is ever preempted.
// - The token budget is at least the number of sequences, so a step with a prompt in it always advances a prompt.
// - A request's last token is sampled, not computed: prompt + output - 1 tokens are.
//
// Overload. Refused at arrival: what no attention worker could ever hold, and whatever finds the queue full. Refused
// later: what has waited max_queue_ns. A request that is not complete timeout_ns after its arrival is given up when its
// microbatch composes the next time.
//
// Early ends. A request may end with any token it samples (stop()), and its client may go away (cancel()).
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "core/ids.h"

namespace afore::batch {

inline constexpr std::int64_t kKvBlockTokens = 16;
inline constexpr Nanos kNever = -1;

struct ServingOptions {
  int microbatches = 1;
  int attention_workers = 1;
  std::int64_t max_num_seqs = 256;             // running requests of a microbatch
  std::int64_t max_num_batched_tokens = 2048;  // of a step of a microbatch; at least max_num_seqs
  std::int64_t kv_budget_tokens = 1 << 20;     // of each attention worker, reserved in blocks of kKvBlockTokens
  std::int64_t max_queue = 1024;               // waiting requests
  Nanos max_queue_ns = kNever;                 // longest wait
  Nanos timeout_ns = kNever;                   // from arrival to the last token
};

enum class Refusal { none, queue_full, queue_time, kv_budget };
const char* to_string(Refusal refusal);

// One request from its offer to its end. Slots are reused.
struct Served {
  Nanos arrival_ns = 0, admitted_ns = kNever;
  std::int64_t prompt_tokens = 0, output_tokens = 0;
  std::int64_t computed = 0;  // tokens in the KV cache
  std::int64_t sampled = 0;   // output tokens so far
  int microbatch = -1, attention_worker = -1;
  bool stopped = false, cancelled = false;  // by stop(); by cancel(), in the step under way
};

// `tokens` of a request from position `first` on (the prompt's first token is 0); samples when it reaches the end of
// what is known.
struct Chunk {
  int slot = 0;
  std::int64_t first = 0, tokens = 0;
  bool samples = false;
  int attention_worker = 0;
};

struct ServingStep {  // of one microbatch
  std::vector<Chunk> chunks;
  std::int64_t tokens = 0, prefill_tokens = 0;
  std::int64_t kv_tokens = 0;                      // cached before the step, of its requests
  std::vector<std::int64_t> per_attention_worker;  // requests
  std::vector<int> admitted;                       // slots whose first chunk this is
};

// A request that ended without its last token.
struct GivenUp {
  int slot = 0;
  Nanos at_ns = 0;
  Refusal refusal = Refusal::none;  // none: timed out
};

class ServingBatcher {
 public:
  explicit ServingBatcher(const ServingOptions& options);

  // A request arrives; arrivals do not fall. The slot, or why it is refused (slot -1). Requests before it whose wait
  // ended by then are in given_up().
  struct Offer {
    int slot = -1;
    Refusal refusal = Refusal::none;
  };
  Offer offer(Nanos arrival_ns, std::int64_t prompt_tokens, std::int64_t output_tokens);

  // Ends queued requests whose wait is over by then.
  void expire(Nanos now);
  // The next step of a microbatch whose last one is complete; no chunks: it has nothing to do. Valid until the next
  // call for this microbatch. Also ends what has waited or run too long, see given_up().
  const ServingStep& compose(Nanos now, int microbatch);
  // The token that the request samples in the step under way ends it: complete() returns it, however many it may have
  // had left.
  void stop(int slot);
  // Its tokens are sampled. Returns the slots of the requests that are complete, in order; they stay readable until
  // release().
  std::span<const int> complete(int microbatch);
  // Nobody wants the rest of a queued or running request. Its place, its memory and its slot are free at once, or,
  // where it is in the step under way, with complete(): then false. Neither complete() nor take_given_up() tells it,
  // and it is not released; it stays readable until the next offer().
  bool cancel(int slot);
  // Ended by offer() or compose() since the last call of take_given_up(); readable until release().
  std::vector<GivenUp> take_given_up();
  void release(int slot);  // of a complete or given up request

  const ServingStep& step(int microbatch) const { return microbatches_[microbatch].step; }  // last composed
  const Served& at(int slot) const { return slots_[slot]; }
  std::int64_t queued() const { return static_cast<std::int64_t>(queue_.size()); }
  std::int64_t running() const { return running_; }
  std::int64_t kv_reserved(int attention_worker) const { return workers_[attention_worker].reserved; }  // tokens
  const ServingOptions& options() const { return options_; }

 private:
  struct Worker {
    std::int64_t reserved = 0;                // tokens, in whole blocks
    std::vector<std::int64_t> by_microbatch;  // requests
  };
  struct Microbatch {
    std::vector<int> running;  // slots in order of admission
    ServingStep step;
    bool composed = false;
    std::vector<int> finished;
  };

  static std::int64_t kv_tokens_of(const Served& request);
  void expire_running(Nanos now, Microbatch& microbatch);
  bool admit_head(Nanos now, int microbatch);
  void leave(int slot);                          // a running request's memory and place
  const Chunk* chunk_under_way(int slot) const;  // nullptr: the request is not in a step that is composed
  void add_chunk(int slot, std::int64_t tokens, ServingStep& step);
  Nanos wait_ends(const Served& request) const;

  ServingOptions options_;
  std::vector<Served> slots_;
  std::vector<int> free_slots_;
  std::deque<int> queue_;
  std::vector<Microbatch> microbatches_;
  std::vector<Worker> workers_;
  std::vector<GivenUp> given_up_;
  std::int64_t running_ = 0;
  Nanos last_arrival_ns_ = 0;
};

}  // namespace afore::batch
