#include "host/live_requests.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "util/error.h"

namespace afore::host {
namespace {

constexpr auto kLookAtSignals = std::chrono::milliseconds(20);  // at signals

}  // namespace

LiveRequests::LiveRequests(std::int64_t max_queue, std::function<Nanos()> clock)
    : max_queue_(max_queue), clock_(std::move(clock)) {}

Submission LiveRequests::submit(IncomingRequest request) {
  {
    const std::lock_guard lock(mutex_);
    offered_ += 1;
    if (closed_) {
      unread_.draining += 1;
      return Submission::draining;
    }
    if (std::ssize(waiting_) >= max_queue_) {
      unread_.full += 1;
      return Submission::full;
    }
    const bool is_new = waiting_.insert(request.record.id).second;
    AFORE_CHECK(is_new, "two requests that wait have one id");
    request.record.arrival_ns = clock_();  // under the mutex, so that arrivals do not fall
    mailbox_.push_back(std::move(request));
  }
  changed_.notify_one();
  return Submission::accepted;
}

void LiveRequests::cancel(const std::string& id) {
  {
    const std::lock_guard lock(mutex_);
    const auto unread = std::find_if(mailbox_.begin(), mailbox_.end(),
                                     [&](const IncomingRequest& request) { return request.record.id == id; });
    if (unread != mailbox_.end()) {
      mailbox_.erase(unread);
      waiting_.erase(id);
      unread_.cancelled += 1;
      return;
    }
    cancelled_.push_back(id);
  }
  changed_.notify_one();
}

void LiveRequests::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_one();
}

LiveRequests::Door LiveRequests::door() const {
  const std::lock_guard lock(mutex_);
  return {offered_, unread_};
}

RequestSource::Next LiveRequests::next(IncomingRequest& request) {
  const std::lock_guard lock(mutex_);
  if (mailbox_.empty()) return closed_ ? Next::end : Next::none_yet;
  request = std::move(mailbox_.front());
  mailbox_.pop_front();
  return Next::request;
}

void LiveRequests::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kLookAtSignals, [this] { return !mailbox_.empty() || !cancelled_.empty() || closed_; });
}

void LiveRequests::take_cancelled(std::vector<std::string>& ids) {
  const std::lock_guard lock(mutex_);
  ids.insert(ids.end(), std::make_move_iterator(cancelled_.begin()), std::make_move_iterator(cancelled_.end()));
  cancelled_.clear();
}

void LiveRequests::on_admitted(const std::string& id, Nanos) {
  const std::lock_guard lock(mutex_);
  waiting_.erase(id);
}

void LiveRequests::on_closed(const Completion& completion, const pipeline::RequestTimes&) {
  const std::lock_guard lock(mutex_);
  waiting_.erase(completion.id);
}

}  // namespace afore::host
