#pragma once
// The one lock of the shim. Kernels run under it, one launch at a time: `__shared__` is static.
#include <mutex>

namespace afore::shim {

using Lock = std::unique_lock<std::mutex>;
Lock take_lock();

}  // namespace afore::shim
