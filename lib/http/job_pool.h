#pragma once
// A few threads for work that is too long for the network's thread, and a bound on what waits for them.
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace afore::http {

class JobPool {
 public:
  // At most `max_jobs` wait or run.
  JobPool(int threads, std::size_t max_jobs);
  ~JobPool();  // stop()

  bool submit(std::function<void()> job);  // false: full. Jobs do not throw.
  void stop();                             // waits for those that run; those that wait are dropped. Idempotent.

 private:
  void work();

  const std::size_t max_jobs_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  std::size_t running_ = 0;
  bool stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace afore::http
