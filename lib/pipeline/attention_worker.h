#pragma once
// Runs attention and the gate for its share of each target, in stream order; sends hidden states to the FFN side and
// its demand, on a path of its own, to the scheduler. A state machine: reacts to events, acts through Actions.
#include <deque>
#include <map>
#include <optional>

#include "pipeline/messages.h"

namespace afore::pipeline {

class AttentionWorker {
 public:
  // What this actor asks of its host. Calls return at once; results come back as events.
  class Actions {
   public:
    virtual ~Actions() = default;
    virtual void run_attention(int worker, const WorkItem& item) = 0;  // attention and gate; -> on_attention_done
    virtual void run_sampling(int worker, const WorkItem& item) = 0;   // -> on_sampling_done
    virtual void send_rows(int worker, const Target& target) = 0;
    virtual void send_demand(int worker, const Target& target, std::span<const std::int64_t> counts) = 0;
    virtual void item_done(int worker, const WorkItem& item) = 0;  // to the Coordinator
  };

  AttentionWorker(int index, Actions& actions) : index_(index), actions_(actions) {}

  void on_work(const WorkItem& item);
  void on_attention_done(const Target& target, std::span<const std::int64_t> counts);
  void on_sampling_done();
  void on_outputs(const Target& target);  // the FFN side's results are back

 private:
  void start_next();
  bool ready(const WorkItem& item) const;

  int index_;
  Actions& actions_;
  std::deque<WorkItem> queue_;          // bounded by the Coordinator
  std::map<int, Target> last_outputs_;  // by microbatch: newest target whose outputs arrived
  bool busy_ = false;
};

}  // namespace afore::pipeline
