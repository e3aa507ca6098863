#pragma once
// Feeds targets to the attention workers in stream order, a bounded number ahead; inserts sampling where a microbatch
// begins its next step, and knows when a step of a microbatch is done. What the batches hold is its caller's business:
// a stream's (open loop), or composed step by step from what has happened (closed loop).
#include <deque>
#include <map>
#include <optional>

#include "pipeline/messages.h"

namespace afore::pipeline {

class Coordinator {
 public:
  class Actions {
   public:
    virtual ~Actions() = default;
    virtual void send_work(const Demand& demand, const Batch& batch,
                           const WorkItem& item) = 0;               // to all attention workers
    virtual void step_done(std::int64_t step, int microbatch) = 0;  // its tokens are sampled
  };

  // At most `ahead` targets are out and not yet through attention on every worker.
  Coordinator(int attention_workers, int ahead, Actions& actions)
      : workers_(attention_workers), ahead_(ahead), actions_(actions) {}

  void on_target(const Demand& demand, const Batch& batch);
  // The microbatch's step has no further targets: it is sampled now, rather than when its next step begins.
  void on_step_end(int microbatch);
  void on_end();  // no more targets: the last steps are sampled
  void on_item_done(const WorkItem& item);

  // True while another target could go out but none is queued: the host must bring input before time goes on.
  bool starved() const { return !ended_ && queue_.empty() && outstanding_.size() < static_cast<std::size_t>(ahead_); }
  bool idle() const { return queue_.empty() && outstanding_.empty(); }

 private:
  struct Entry {
    WorkItem item;
    Demand demand;  // sampling items carry none
    Batch batch;
  };
  void push_sampling(const Target& last);
  void pump();

  int workers_;
  int ahead_;
  Actions& actions_;
  std::deque<Entry> queue_;
  std::deque<std::pair<WorkItem, int>> outstanding_;  // item, workers still at it
  std::map<int, Target> last_of_microbatch_;
  std::map<int, std::int64_t> arrival_of_last_;  // its place in the stream
  std::int64_t arrivals_ = 0;
  bool ended_ = false;
};

}  // namespace afore::pipeline
