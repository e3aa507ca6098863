#pragma once
// Says that something is to end: 0, or why, mostly a signal's number. Set by signal handlers and by other threads; who
// looks at it owns nothing of it.
#include <atomic>

namespace afore {

using StopFlag = std::atomic<int>;
static_assert(StopFlag::is_always_lock_free, "a signal handler sets it");

}  // namespace afore
