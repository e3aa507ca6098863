#include "http/record_reply.h"

#include <utility>

namespace afore::http {
namespace {

// As much as is handed to the connection ahead of what the client takes; the rest waits here, uncopied.
constexpr std::size_t kAheadBytes = 256 << 10;

}  // namespace

bool RecordReply::push(std::shared_ptr<const std::string> lines) {
  bool goes_on = true;
  {
    const std::lock_guard lock(mutex_);
    if (over_) return false;
    // One piece alone may be larger: what stands in all layers comes at once.
    if (bytes_ > 0 && bytes_ + lines->size() > limit_bytes_) {
      over_ = behind_ = true;
      goes_on = false;
    } else {
      bytes_ += lines->size();
      lines_.push_back(std::move(lines));
    }
  }
  mailbox_->ring(shared_from_this());
  return goes_on;
}

std::shared_ptr<const std::string> RecordReply::next_lines() {
  const std::lock_guard lock(mutex_);
  if (lines_.empty()) return nullptr;
  const auto lines = std::move(lines_.front());
  lines_.pop_front();
  bytes_ -= lines->size();
  return lines;
}

bool RecordReply::is_behind() {
  const std::lock_guard lock(mutex_);
  return behind_;
}

void RecordReply::take_mail() {
  if (is_behind()) return exchange_->abort();
  while (exchange_->unsent() < kAheadBytes) {
    const auto lines = next_lines();
    if (!lines) break;
    exchange_->send(*lines);
  }
}

void RecordReply::on_progress() {
  if (exchange_ != nullptr) on_mail();
}

void RecordReply::finish() {
  if (exchange_ == nullptr) return;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    if (!lines_.empty()) return;
  }
  std::exchange(exchange_, nullptr)->end();
}

void RecordReply::cancel() {
  exchange_ = nullptr;
  const std::lock_guard lock(mutex_);
  over_ = true;
  lines_.clear();
  bytes_ = 0;
}

}  // namespace afore::http
