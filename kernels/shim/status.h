#pragma once
// Errors as the runtime API keeps them: a last one per thread, and a fault that stays.
#include <string>

#include "kernels/shim/lock.h"
#include "kernels/shim/runtime_api.h"

namespace afore::shim {

// Makes an error the thread's last one; returns it.
cudaError_t report(cudaError_t error);
// Why no call is served now: inside a host function, after a fault, or without a device.
cudaError_t refusal();

bool faulted();
void set_fault(const std::string& text);
void clear_fault();  // and this thread's last error

// While a host function of a stream runs in this thread.
struct InHostFunction {
  InHostFunction();
  ~InHostFunction();
};

}  // namespace afore::shim
