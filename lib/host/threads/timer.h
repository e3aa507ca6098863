#pragma once
// Delivers things later, on a thread of its own: what a paced run's links and control paths take.
#include <condition_variable>
#include <functional>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

#include "host/threads/clock.h"

namespace afore::host {

class Timer {
 public:
  // `failed` hears of what a delivery throws.
  Timer(const WallClock& clock, std::function<void(std::exception_ptr)> failed);
  ~Timer();  // what is not due yet is dropped

  // Deliveries of one time go in the order in which they were asked for.
  void at(Nanos at_ns, std::function<void()> deliver);
  void stop();

 private:
  struct Entry {
    Nanos at_ns = 0;
    std::uint64_t order = 0;
    std::function<void()> deliver;
  };
  struct Later {
    bool operator()(const Entry& a, const Entry& b) const {
      return a.at_ns != b.at_ns ? a.at_ns > b.at_ns : a.order > b.order;
    }
  };
  void run();

  const WallClock& clock_;
  std::function<void(std::exception_ptr)> failed_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::priority_queue<Entry, std::vector<Entry>, Later> entries_;
  std::uint64_t next_ = 0;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace afore::host
