#pragma once
// Requests as they come in: a mailbox between the threads that accept them and the thread that serves. At most
// `max_queue` requests wait, from submit() until their first step begins; who would be one more is refused at once.
// submit(), cancel() and close() wait for nothing but a mutex that is held for moments.
//
// A loop that reads from it must have it among its observers, or nobody ever stops waiting.
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "host/request_source.h"
#include "host/serving_observer.h"

namespace afore::host {

class LiveRequests final : public RequestSource, public ServingObserver {
 public:
  // `clock`: of the loop that reads, now() of its runner; called by the threads that submit, one at a time.
  LiveRequests(std::int64_t max_queue, std::function<Nanos()> clock);

  // For any thread. The request arrives now, whatever its record says; its id must not be that of one that waits.
  Submission submit(IncomingRequest request);
  // Its client went away. Ids of requests that have ended, or never were, are ignored.
  void cancel(const std::string& id);
  // No more are taken; those that wait are served, and then the source has ended.
  void close();

  struct Door {                // at one moment
    std::int64_t offered = 0;  // how often submit() was called
    UnreadRequests unread;     // for ServingLoop::add_unread()
  };
  Door door() const;

  // For the loop.
  Next next(IncomingRequest& request) override;
  void wait() override;
  void take_cancelled(std::vector<std::string>& ids) override;
  void on_admitted(const std::string& id, Nanos queue_ns) override;
  void on_closed(const Completion& completion, const pipeline::RequestTimes& times) override;

 private:
  const std::int64_t max_queue_;
  const std::function<Nanos()> clock_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<IncomingRequest> mailbox_;      // submitted, not yet given to the loop
  std::unordered_set<std::string> waiting_;  // those, and those in the loop's queue
  std::vector<std::string> cancelled_;       // of requests that the loop has, or had
  bool closed_ = false;
  std::int64_t offered_ = 0;
  UnreadRequests unread_;
};

}  // namespace afore::host
