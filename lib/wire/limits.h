#pragma once
// What files may say. Inside this room only.
#include <cstdint>

#include "core/ids.h"

namespace afore::wire {

// What the arithmetic of the simulator stays exact and in range with.
inline constexpr double kMaxRate = 1e20;
inline constexpr Nanos kMaxTimeNs = 1'000'000'000;

inline constexpr std::int64_t kMaxWidth = 1 << 24;    // of a model's matrices
inline constexpr std::int64_t kMaxByteExperts = 256;  // where ids are one byte each

}  // namespace afore::wire
