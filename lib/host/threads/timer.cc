#include "host/threads/timer.h"

#include <chrono>

#include "host/threads/start_thread.h"

namespace afore::host {

Timer::Timer(const WallClock& clock, std::function<void(std::exception_ptr)> failed)
    : clock_(clock), failed_(std::move(failed)), thread_(start_thread("timer", [this] { run(); })) {}

Timer::~Timer() { stop(); }

void Timer::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Timer::at(Nanos at_ns, std::function<void()> deliver) {
  {
    const std::lock_guard lock(mutex_);
    entries_.push({at_ns, next_++, std::move(deliver)});
  }
  changed_.notify_one();
}

void Timer::run() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (entries_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const Nanos wait_ns = entries_.top().at_ns - clock_.now();
    if (wait_ns > 0) {
      changed_.wait_for(lock, std::chrono::nanoseconds(wait_ns));
      continue;
    }
    const std::function<void()> deliver = entries_.top().deliver;
    entries_.pop();
    lock.unlock();
    try {
      deliver();
    } catch (...) {
      failed_(std::current_exception());
    }
    lock.lock();
  }
}

}  // namespace afore::host
