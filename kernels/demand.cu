#include "kernels/block.cuh"
#include "kernels/gate.h"

// Counts are made in shared memory. The pairs of a step of decoding are one block's, which writes what it counted; more
// pairs are cut over blocks, which add to counts that a launch before has cleared.
namespace afore::kernels {
namespace {

constexpr int kThreads = 1024;
constexpr std::int32_t kPairsPerBlock = 32 * kThreads;

__global__ void clear_kernel(std::int32_t experts, std::int32_t* counts) {
  for (int e = threadIdx.x; e < experts; e += blockDim.x) counts[e] = 0;
}

__global__ __launch_bounds__(kThreads) void histogram_kernel(const std::int32_t* ids, std::int32_t pairs,
                                                             std::int32_t experts, std::int32_t* counts) {
  __shared__ std::int32_t mine[kMostExperts];
  for (int e = threadIdx.x; e < experts; e += kThreads) mine[e] = 0;
  __syncthreads();
  const std::int32_t first = blockIdx.x * kPairsPerBlock, last = min(pairs, first + kPairsPerBlock);
  for (std::int32_t i = first + threadIdx.x; i < last; i += kThreads) atomicAdd(&mine[ids[i]], 1);
  __syncthreads();
  for (int e = threadIdx.x; e < experts; e += kThreads) {
    if (gridDim.x == 1) counts[e] = mine[e];
    else atomicAdd(&counts[e], mine[e]);
  }
}

}  // namespace

void demand_histogram(const std::int32_t* ids, std::int32_t pairs, std::int32_t experts, std::int32_t* counts,
                      cudaStream_t stream) {
  const std::int32_t blocks = pairs == 0 ? 1 : divided_up(pairs, kPairsPerBlock);
  if (blocks > 1) AFORE_LAUNCH(clear_kernel, dim3(1), dim3(kThreads), 0, stream, experts, counts);
  AFORE_LAUNCH(histogram_kernel, dim3(blocks), dim3(kThreads), 0, stream, ids, pairs, experts, counts);
}

}  // namespace afore::kernels
