#include "device/cpu/thread_pool.h"

#include <exception>
#include <system_error>
#include <utility>

#include "util/error.h"

namespace afore::device::cpu {

ThreadPool::ThreadPool(int threads) {
  AFORE_CHECK(threads >= 1, "a pool of no threads");
  workers_.reserve(static_cast<std::size_t>(threads) - 1);
  try {
    for (int t = 1; t < threads; ++t) workers_.emplace_back([this, t] { serve(t); });
  } catch (const std::system_error& failed) {
    stop();
    throw Error(ErrorKind::io,
                "cannot start thread " + std::to_string(workers_.size() + 2) + " of " + std::to_string(threads) + ": " +
                    failed.what(),
                "ask for fewer threads, or raise the limit (ulimit -u)");
  }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run(std::int64_t parts, const std::function<void(std::int64_t, int)>& part) {
  if (parts <= 0) return;
  {
    const std::lock_guard lock(mutex_);
    AFORE_CHECK(part_ == nullptr, "a pool that is at work already");
    part_ = &part;
    parts_ = parts;
    next_ = 0;
    ++generation_;
  }
  if (parts > 1) wake_.notify_all();
  do_parts(0);
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return active_ == 0; });
  part_ = nullptr;
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void ThreadPool::serve(int thread) {
  std::uint64_t seen = 0;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stop_ || generation_ != seen; });
      if (stop_) return;
      seen = generation_;
    }
    do_parts(thread);
  }
}

void ThreadPool::do_parts(int thread) {
  std::unique_lock lock(mutex_);
  while (next_ < parts_ && part_ != nullptr) {
    const std::int64_t part = next_++;
    const auto& work = *part_;
    ++active_;
    lock.unlock();
    std::exception_ptr error;
    try {
      work(part, thread);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    --active_;
    if (error) {
      if (!error_) error_ = error;
      next_ = parts_;  // nothing more is begun
    }
  }
  if (active_ == 0) done_.notify_one();
}

}  // namespace afore::device::cpu
