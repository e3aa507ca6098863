#pragma once
// The wall clock of a run, from 0, and waiting on it.
#include <time.h>

#include <atomic>
#include <cstdint>

#include "core/ids.h"

namespace afore::host {

class WallClock {
 public:
  WallClock() : start_ns_(raw()) {}

  void restart() { start_ns_ = raw(); }  // before anybody looks at it
  Nanos now() const { return raw() - start_ns_; }
  // Until `at_ns`, or shortly after `stop` is set.
  void sleep_until(Nanos at_ns, const std::atomic<bool>& stop) const {
    constexpr Nanos kLookEvery = 100'000'000;
    for (Nanos now_ns = now(); now_ns < at_ns && !stop.load(std::memory_order_relaxed); now_ns = now()) {
      const Nanos until = start_ns_ + (at_ns - now_ns > kLookEvery ? now_ns + kLookEvery : at_ns);
      const timespec when{until / 1'000'000'000, until % 1'000'000'000};
      clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr);
    }
  }

 private:
  static Nanos raw() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return Nanos{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
  }
  Nanos start_ns_;
};

}  // namespace afore::host
