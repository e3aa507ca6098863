#include "host/at_once.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "host/threads/start_thread.h"
#include "util/error.h"

namespace afore::host {
namespace {

class Gate {
 public:
  enum class State { shut, open, cancelled };
  void set(State state) {
    {
      const std::lock_guard lock(mutex_);
      state_ = state;
    }
    changed_.notify_all();
  }
  bool pass() {  // false: go home
    std::unique_lock lock(mutex_);
    ++waiting_;
    arrived_.notify_one();
    changed_.wait(lock, [this] { return state_ != State::shut; });
    return state_ == State::open;
  }
  void wait_for(std::size_t threads) {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [&] { return waiting_ == threads; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_, arrived_;
  State state_ = State::shut;
  std::size_t waiting_ = 0;
};

void attempt(const std::function<void()>& job, std::exception_ptr& error) {
  try {
    job();
  } catch (...) {
    error = std::current_exception();
  }
}

}  // namespace

void run_at_once(std::span<const std::function<void()>> jobs) {
  if (jobs.empty()) return;
  Gate gate;
  std::vector<std::exception_ptr> errors(jobs.size());
  std::vector<std::thread> threads;
  threads.reserve(jobs.size());
  const auto join = [&] {
    for (std::thread& thread : threads) thread.join();
  };
  try {
    for (std::size_t i = 1; i < jobs.size(); ++i)
      threads.push_back(start_thread("job", [&gate, &job = jobs[i], &error = errors[i]] {
        if (gate.pass()) attempt(job, error);
      }));
  } catch (...) {
    gate.set(Gate::State::cancelled);
    join();
    throw;
  }
  gate.wait_for(threads.size());
  gate.set(Gate::State::open);
  attempt(jobs.front(), errors.front());
  join();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace afore::host
