#pragma once
// Jobs that begin together.
#include <functional>
#include <span>

namespace afore::host {

// Runs each job on a thread of its own, the first on the caller's; none begins before all threads are there. Returns
// when all are done, and throws what the first of them threw. Error{io} when the system starts no more threads: then
// none has begun.
void run_at_once(std::span<const std::function<void()>> jobs);

}  // namespace afore::host
