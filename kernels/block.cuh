#pragma once
// 16 bytes as one load or store, and sums over the threads of a warp and of a block.
#include <cstdint>

#include "kernels/gpu.h"
#include "kernels/reduce.cuh"

namespace afore::kernels {

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
__device__ inline void add_product(Floats& sum, float weight, Floats y) {
  for (int i = 0; i < 4; ++i) {
    sum.value[i] = __fadd_rn(sum.value[i], __fmul_rn(weight, y.value[i]));
  }
}

// Of what threads before this one have. warps: in shared memory, of this sum alone.
template <class T, int kWarps>
__device__ T sum_before(T mine, T (&warps)[kWarps]) {
  const int lane = threadIdx.x % kWarpLanes, warp = threadIdx.x / kWarpLanes;
  T sum = mine;
  for (int step = 1; step < kWarpLanes; step *= 2) {
    const T other = __shfl_up_sync(kAllLanes, sum, step);
    if (lane >= step) sum += other;
  }
  if (lane == kWarpLanes - 1) warps[warp] = sum;
  __syncthreads();
  sum -= mine;
  for (int w = 0; w < warp; ++w) sum += warps[w];
  return sum;
}

// Of all threads, in each of them. warps: in shared memory, of this sum alone.
template <class T, int kWarps>
__device__ T block_sum(T mine, T (&warps)[kWarps]) {
  for (int half = kWarpLanes / 2; half > 0; half /= 2) mine += __shfl_xor_sync(kAllLanes, mine, half);
  if (threadIdx.x % kWarpLanes == 0) warps[threadIdx.x / kWarpLanes] = mine;
  __syncthreads();
  T sum = 0;
  for (int w = 0; w < kWarps; ++w) sum += warps[w];
  return sum;
}

}  // namespace afore::kernels
