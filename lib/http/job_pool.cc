#include "http/job_pool.h"

#include <utility>

namespace afore::http {

JobPool::JobPool(int threads, std::size_t max_jobs) : max_jobs_(max_jobs) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

JobPool::~JobPool() { stop(); }

bool JobPool::submit(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_ || waiting_.size() + running_ >= max_jobs_) return false;
    waiting_.push_back(std::move(job));
  }
  changed_.notify_one();
  return true;
}

void JobPool::stop() {
  std::deque<std::function<void()>> dropped;  // their destructors run without the lock
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    dropped.swap(waiting_);
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void JobPool::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopped_ || !waiting_.empty(); });
    if (stopped_) return;
    std::function<void()> job = std::move(waiting_.front());
    waiting_.pop_front();
    ++running_;
    lock.unlock();
    job();
    job = nullptr;
    lock.lock();
    --running_;
  }
}

}  // namespace afore::http
