#pragma once
// Serving on any host: requests arrive at their own times, every microbatch composes its next step when its last one is
// sampled, tokens go to their requests, and each request is answered once. What a step computes, and how long it takes,
// is the runner's business. Holds the open requests and one request ahead; nothing grows with the run.
//
// Requests come from a list or a stream, or live: the source says which by what it answers when it has none. A client
// that goes away frees its request's place and memory within one step.
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "batch/serving.h"
#include "core/records.h"
#include "host/request_source.h"
#include "host/serving_observer.h"
#include "pipeline/request_metrics.h"
#include "util/stop_flag.h"

namespace afore::host {

// When a run ends before its last request does.
struct RunLimits {
  const StopFlag* stop = nullptr;  // not 0: a signal came
  std::optional<Nanos> end_ns;
  bool signalled() const { return *stop != 0; }
  bool reached(Nanos now) const { return signalled() || (end_ns && now >= *end_ns); }
};

// A pipeline as the loop drives it. A microbatch has one step under way at a time: begin_step(), next_layer() for each
// further layer, wait_sampled(). All microbatches with work begin their step, in order, before the further layers of
// all follow layer by layer: the order of a stream. So wait_sampled() of a later microbatch may come after
// begin_step() of an earlier one.
class StepRunner {
 public:
  virtual ~StepRunner() = default;

  virtual Nanos now() const = 0;         // from the start of the run; never falls
  virtual Nanos copying_ns() const = 0;  // of the time so far, with a copy of an expert under way

  // A request enters its first step, the next that begins; its slot is its own until it is closed.
  virtual void on_admitted(int slot, const IncomingRequest& request) = 0;
  // It ended, completed, given up or cancelled, between two of its steps.
  virtual void on_closed(int slot) = 0;

  // Starts layer 0 of a microbatch's step. `composed` holds until the step is sampled; `record` during the call.
  virtual void begin_step(std::int64_t step, int microbatch, const batch::ServingStep& composed, const Batch& record,
                          Phase phase) = 0;
  virtual void next_layer(int microbatch, std::size_t layer) = 0;  // of the same step; an index, from 1
  // Until the step's tokens are sampled; false: the run reached its limits before. What was begun is then left to
  // finish().
  virtual bool wait_sampled(int microbatch, const RunLimits& limits) = 0;
  // After that, of each slot that sampled: this token ends its request, though it may have more.
  virtual bool ends(int slot) = 0;
  // Before on_closed(), unless the request was cancelled: token ids and text of what it sampled, where there are any.
  virtual void fill(int slot, Completion& completion) = 0;

  virtual void wait_until(Nanos at_ns, const RunLimits& limits) = 0;  // or until a signal
  virtual void on_idle() {}   // nothing is under way, and who comes next is not known
  virtual void finish() = 0;  // runs what was begun to its end
};

struct ServingLoopOptions {
  batch::ServingOptions serving;
  pipeline::ServiceObjectives objectives;
  std::optional<Nanos> end_ns;        // the run ends there, whoever is still queued or running
  std::optional<std::int64_t> steps;  // or when so many are sampled
  // Queued or running at once; 0: no limit. Who comes beyond that arrives when another has ended, as the requests of so
  // many clients do.
  std::int64_t max_open = 0;
  std::size_t layers = 1;                       // of a step
  std::optional<std::size_t> latency_sample{};  // as of pipeline::Latencies
};

class ServingLoop {
 public:
  // `runner` and `observers` must outlive the loop. `completion` may be empty; it is not told of cancelled requests.
  ServingLoop(const ServingLoopOptions& options, StepRunner& runner, std::function<void(const Completion&)> completion,
              std::vector<ServingObserver*> observers = {});

  // To the end of the source and of its last request. With `*stop` set in between (by a signal) it takes no further
  // steps, and says true.
  bool run(RequestSource& source, const StopFlag* stop);
  // When it has run: requests that the source did not let through, for fill().
  void add_unread(const UnreadRequests& unread) { metrics_.add_unread(unread.full, unread.draining, unread.cancelled); }
  void fill(Summary& summary) const;  // the requests' part

 private:
  // What the batcher need not know of an open request, by its slot.
  struct Open {
    bool open = false;
    IncomingRequest request;
    Nanos first_token_ns = pipeline::kNoTime, last_token_ns = pipeline::kNoTime;
    Nanos copying_ns = 0;                        // how long copies had been under way at the last token
    std::vector<std::pair<Nanos, bool>> gaps{};  // between its tokens; whether a copy was under way
  };

  bool out_of_steps() const { return steps_ && step_ >= *steps_; }
  bool is_full() const { return max_open_ > 0 && batcher_.queued() + batcher_.running() >= max_open_; }
  bool ended() const { return limits_.end_ns && runner_.now() >= *limits_.end_ns; }
  bool stopped() const { return limits_.reached(runner_.now()); }
  bool take_turn();
  void read_ahead();
  void take_arrivals(Nanos until);
  void take_given_up();
  void take_cancelled();
  void cancel(const std::string& id);
  void note_token(int slot, Nanos now, Nanos copying_ns);
  void take_tokens(int microbatch);
  bool begin_step(int microbatch);
  void wait_for_arrival();
  void wait_for_source();
  void answer(Completion completion, const pipeline::RequestTimes& times) const;
  void close(int slot, Nanos now, const char* finish_reason, const char* reject_reason);
  void close_cancelled(int slot, Nanos now);
  void forget_past(Nanos now);
  void tell_load();
  Batch batch_record(const batch::ServingStep& composed, int microbatch) const;

  StepRunner& runner_;
  std::function<void(const Completion&)> completion_;
  std::vector<ServingObserver*> observers_;
  std::size_t layers_;
  std::optional<std::int64_t> steps_;
  std::int64_t max_open_;
  bool was_full_ = false;  // when arrivals were last taken
  batch::ServingBatcher batcher_;
  pipeline::RequestMetrics metrics_;
  RequestSource* source_ = nullptr;  // while it runs
  bool source_ended_ = false;
  RunLimits limits_;
  std::optional<IncomingRequest> ahead_;  // the one that arrives next
  Nanos last_arrival_ns_ = 0;
  std::vector<Open> open_;  // by the batcher's slot
  std::int64_t step_ = 0;
  std::vector<bool> begun_, in_step_;         // microbatches: in this turn; with a step that is not yet ended
  std::optional<Nanos> cut_ns_;               // where the run was ended
  Nanos forgotten_ns_ = 0;                    // when the metrics last forgot what cannot change any more
  std::vector<std::string> cancelled_;        // of one take_cancelled()
  std::vector<std::int64_t> kv_blocks_used_;  // of one tell_load()
};

}  // namespace afore::host
