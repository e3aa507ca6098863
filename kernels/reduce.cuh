#pragma once
// Reductions whose order is fixed: the same numbers give the same bits, whatever runs beside them.
#include "kernels/gpu.h"

namespace afore::kernels {

constexpr int kWarpLanes = 32;
constexpr unsigned kAllLanes = 0xffffffffu;

// The sum over groups of kLanes lanes, in each of them; all lanes of the warp call it.
template <int kLanes = kWarpLanes>
__device__ __forceinline__ float lanes_sum(float value) {
  for (int offset = kLanes / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(kAllLanes, value, offset);
  return value;
}
template <int kLanes = kWarpLanes>
__device__ __forceinline__ float lanes_max(float value) {
  for (int offset = kLanes / 2; offset > 0; offset /= 2) {
    const float other = __shfl_xor_sync(kAllLanes, value, offset);
    value = value < other ? other : value;
  }
  return value;
}

}  // namespace afore::kernels
