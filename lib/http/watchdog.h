#pragma once
// Whether requests should be sent to an endpoint, by what its engine says of itself. Reads no clock: both times are
// those of the engine.
#include <string>

#include "host/threads/health.h"

namespace afore::http {

struct WatchdogLimits {
  Nanos plan_ns = 10'000'000'000;  // that a target may wait for its plan
  Nanos copy_ns = 10'000'000'000;  // that a copy of an expert may take
};

class Watchdog {
 public:
  explicit Watchdog(const WatchdogLimits& limits = {}) : limits_(limits) {}

  // Why not, all there is to say of it; empty: ready. `draining`: no more requests are taken.
  std::string not_ready(const host::EngineHealth& health, Nanos now, bool draining) const;

 private:
  WatchdogLimits limits_;
};

}  // namespace afore::http
