#pragma once
// 16 bytes as one load or store, and sums over the threads of a warp and of a block.
#include <cstdint>

#include "kernels/gpu.h"

namespace afore::kernels {

inline constexpr int kWarpSize = 32;
inline constexpr std::uint32_t kAllLanes = 0xffffffffu;

template <class T>
__host__ __device__ constexpr T least(T a, T b) {
  return a < b ? a : b;
}
template <class T>
__host__ __device__ constexpr T divided_up(T a, T b) {
  return (a + b - 1) / b;
}

struct alignas(16) Words {
  std::uint32_t word[4];
};
struct alignas(16) Floats {
  float value[4];
};

// sum += weight * y, rounded twice as hosts do it: a fused sum would not be the CPU's.
__device__ inline void add_product(Floats& sum, float weight, const Floats& y) {
  for (int i = 0; i < 4; ++i) {
#if defined(__CUDA_ARCH__)
    sum.value[i] = __fadd_rn(sum.value[i], __fmul_rn(weight, y.value[i]));
#else
    sum.value[i] += weight * y.value[i];
#endif
  }
}

// The same bits in every lane: halves are added, and a sum of two has no order.
template <class T>
__device__ T warp_sum(T mine) {
  for (int half = kWarpSize / 2; half > 0; half /= 2) mine += __shfl_xor_sync(kAllLanes, mine, half);
  return mine;
}

// Of what threads before this one have. warps: in shared memory, of this sum alone.
template <class T, int kWarps>
__device__ T sum_before(T mine, T (&warps)[kWarps]) {
  const int lane = threadIdx.x % kWarpSize, warp = threadIdx.x / kWarpSize;
  T sum = mine;
  for (int step = 1; step < kWarpSize; step *= 2) {
    const T other = __shfl_up_sync(kAllLanes, sum, step);
    if (lane >= step) sum += other;
  }
  if (lane == kWarpSize - 1) warps[warp] = sum;
  __syncthreads();
  sum -= mine;
  for (int w = 0; w < warp; ++w) sum += warps[w];
  return sum;
}

// Of all threads, in each of them. warps: in shared memory, of this sum alone.
template <class T, int kWarps>
__device__ T block_sum(T mine, T (&warps)[kWarps]) {
  mine = warp_sum(mine);
  if (threadIdx.x % kWarpSize == 0) warps[threadIdx.x / kWarpSize] = mine;
  __syncthreads();
  T sum = 0;
  for (int w = 0; w < kWarps; ++w) sum += warps[w];
  return sum;
}

}  // namespace afore::kernels
