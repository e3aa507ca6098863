#pragma once
// The devices that the runtime API shows. Callers hold the lock.
#include <cstddef>

#include "kernels/shim/settings.h"

namespace afore::shim {

inline constexpr std::size_t kSharedBytes = 48 << 10;       // a block's, unless the kernel has asked for more
inline constexpr std::size_t kMostSharedBytes = 227 << 10;  // as on sm_90

DriverSettings& driver();
int num_devices();
bool is_device(int device);
int current_device();  // of this thread
std::size_t device_memory_bytes();
bool has_access(int device, int owner);
void reset_devices(int count, std::size_t memory_bytes);

}  // namespace afore::shim
