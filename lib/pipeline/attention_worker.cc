#include "pipeline/attention_worker.h"

#include "util/error.h"

namespace afore::pipeline {

void AttentionWorker::on_work(const WorkItem& item) {
  queue_.push_back(item);
  start_next();
}

// Attention waits for the microbatch's previous layer; sampling for the step's last layer. A step's first layer
// follows the sampling of the step before, which stands ahead of it in this very queue.
bool AttentionWorker::ready(const WorkItem& item) const {
  if (item.first_in_step) return true;
  const auto it = last_outputs_.find(item.target.microbatch);
  return it != last_outputs_.end() && it->second == item.previous;
}

void AttentionWorker::start_next() {
  if (busy_ || queue_.empty() || !ready(queue_.front())) return;
  busy_ = true;
  if (queue_.front().kind == WorkItem::Kind::attention) actions_.run_attention(index_, queue_.front());
  else actions_.run_sampling(index_, queue_.front());
}

void AttentionWorker::on_attention_done(const Target& target, std::span<const std::int64_t> counts) {
  AFORE_CHECK(busy_ && queue_.front().target == target, "attention finished for a target that is not running");
  const WorkItem item = queue_.front();
  queue_.pop_front();
  busy_ = false;
  // The demand goes first: it is small, and every microsecond of it is window for copies.
  actions_.send_demand(index_, target, counts);
  actions_.send_rows(index_, target);
  actions_.item_done(index_, item);
  start_next();
}

void AttentionWorker::on_sampling_done() {
  AFORE_CHECK(busy_ && queue_.front().kind == WorkItem::Kind::sampling, "sampling finished, but none is running");
  const WorkItem item = queue_.front();
  queue_.pop_front();
  busy_ = false;
  actions_.item_done(index_, item);
  start_next();
}

void AttentionWorker::on_outputs(const Target& target) {
  last_outputs_[target.microbatch] = target;
  start_next();
}

}  // namespace afore::pipeline
