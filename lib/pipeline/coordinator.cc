#include "pipeline/coordinator.h"

#include <algorithm>

#include "util/error.h"

namespace afore::pipeline {

void Coordinator::push_sampling(const Target& last) {
  Entry entry;
  entry.item.kind = WorkItem::Kind::sampling;
  entry.item.target = last;
  entry.item.previous = last;
  queue_.push_back(std::move(entry));
}

void Coordinator::on_target(const Demand& demand, const Batch& batch) {
  const Target& target = demand.target;
  const auto before = last_of_microbatch_.find(target.microbatch);
  const bool known = before != last_of_microbatch_.end();
  const bool new_step = !known || before->second.step != target.step;
  if (known && new_step) push_sampling(before->second);
  Entry entry;
  entry.item.target = target;
  entry.item.first_in_step = new_step;
  if (!new_step) entry.item.previous = before->second;
  entry.demand = demand;
  entry.batch = batch;
  queue_.push_back(std::move(entry));
  last_of_microbatch_[target.microbatch] = target;
  arrival_of_last_[target.microbatch] = arrivals_++;
  pump();
}

void Coordinator::on_step_end(int microbatch) {
  const auto it = last_of_microbatch_.find(microbatch);
  AFORE_CHECK(it != last_of_microbatch_.end(), "a step ends that has no targets");
  push_sampling(it->second);
  last_of_microbatch_.erase(it);
  pump();
}

void Coordinator::on_end() {
  ended_ = true;
  // In the order in which the microbatches' last targets came.
  std::vector<std::pair<std::int64_t, Target>> last;
  for (const auto& [microbatch, target] : last_of_microbatch_) last.emplace_back(arrival_of_last_[microbatch], target);
  std::sort(last.begin(), last.end());
  for (const auto& [arrival, target] : last) push_sampling(target);
  pump();
}

void Coordinator::pump() {
  while (!queue_.empty() && outstanding_.size() < static_cast<std::size_t>(ahead_)) {
    const Entry entry = std::move(queue_.front());
    queue_.pop_front();
    outstanding_.emplace_back(entry.item, workers_);
    actions_.send_work(entry.demand, entry.batch, entry.item);
  }
}

void Coordinator::on_item_done(const WorkItem& item) {
  for (auto it = outstanding_.begin(); it != outstanding_.end(); ++it) {
    if (it->first.kind != item.kind || it->first.target != item.target) continue;
    if (--it->second > 0) return;
    outstanding_.erase(it);
    if (item.kind == WorkItem::Kind::sampling) actions_.step_done(item.target.step, item.target.microbatch);
    pump();
    return;
  }
  AFORE_CHECK(false, "an attention worker finished an item it was not given");
}

}  // namespace afore::pipeline
