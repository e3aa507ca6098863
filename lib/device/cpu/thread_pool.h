#pragma once
// Threads that share one call's work. Bounded, woken by futex: no spinning, as the cores may be taken.
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace afore::device::cpu {

class ThreadPool {
 public:
  // `threads` in all, the caller of run() among them; at least 1. Error{io} when the system starts no more.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }
  // part(p, thread) for every p in 0 … parts - 1, in any order on any thread; returns when all are done. Not nested,
  // one caller at a time. After an exception no part is begun, and it is thrown here when those begun have ended.
  void run(std::int64_t parts, const std::function<void(std::int64_t part, int thread)>& part);

 private:
  void serve(int thread);     // a worker's life
  void do_parts(int thread);  // until none is left
  void stop();

  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  // Under mutex_:
  const std::function<void(std::int64_t, int)>* part_ = nullptr;  // null between calls
  std::int64_t parts_ = 0, next_ = 0;
  int active_ = 0;  // parts begun and not ended
  std::uint64_t generation_ = 0;
  bool stop_ = false;
  std::exception_ptr error_;
};

}  // namespace afore::device::cpu
