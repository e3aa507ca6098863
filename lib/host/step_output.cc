#include "host/step_output.h"

namespace afore::host {

void StepOutput::end(std::int64_t step, int microbatch, std::vector<std::string> early) {
  if (--under_way_.at(step) == 0) under_way_.erase(step);
  if (!early.empty()) early_[{step, microbatch}] = std::move(early);
}

void StepOutput::add(std::int64_t step, std::optional<Batch> batch, std::function<void(const Batch*)> emit) {
  items_.push_back({step, std::move(batch), std::move(emit)});
}

void StepOutput::emit_first() {
  Item item = std::move(items_.front());
  items_.pop_front();
  if (item.batch) {
    if (const auto it = early_.find({item.step, item.batch->microbatch}); it != early_.end()) {
      item.batch->finished.insert(item.batch->finished.end(), it->second.begin(), it->second.end());
      early_.erase(it);
    }
  }
  item.emit(item.batch ? &*item.batch : nullptr);
}

void StepOutput::release() {
  while (!items_.empty() && !under_way_.contains(items_.front().step)) emit_first();
  // Of steps that nobody wrote down, or whose batch is out.
  if (items_.empty()) early_.clear();
  else early_.erase(early_.begin(), early_.lower_bound({items_.front().step, 0}));
}

void StepOutput::release_all() {
  while (!items_.empty()) emit_first();
}

}  // namespace afore::host
