#pragma once
// Reductions whose order is fixed: the same numbers give the same bits, whatever runs beside them.
#include "kernels/gpu.h"

namespace afore::kernels {

constexpr int kWarpLanes = 32;
constexpr unsigned kAllLanes = 0xffffffffu;

// Over lanes that are kStep apart, in each of them; all lanes of the warp call it.
template <int kStep = 1>
__device__ __forceinline__ float lanes_sum(float value) {
  for (int offset = kWarpLanes / 2; offset >= kStep; offset /= 2) value += __shfl_xor_sync(kAllLanes, value, offset);
  return value;
}
template <int kStep = 1>
__device__ __forceinline__ float lanes_max(float value) {
  for (int offset = kWarpLanes / 2; offset >= kStep; offset /= 2) {
    const float other = __shfl_xor_sync(kAllLanes, value, offset);
    value = value < other ? other : value;
  }
  return value;
}

}  // namespace afore::kernels
