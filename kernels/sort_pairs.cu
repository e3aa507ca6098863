#include "kernels/block.cuh"
#include "kernels/gate.h"

// A block finds the pairs of one expert. Threads have consecutive stretches of the ids, in order, so that a sum over
// the threads before gives each the place of its first pair: the sort is stable without a second pass over memory that
// all blocks share. Every block reads all ids, which a step of decoding has few of and the L2 cache holds.
namespace afore::kernels {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / kWarpLanes;

__global__ __launch_bounds__(kThreads) void sort_pairs_kernel(const std::int32_t* ids, std::int32_t pairs,
                                                              std::int32_t experts, const std::int32_t* counts,
                                                              std::int32_t* begin, std::int32_t* sorted) {
  __shared__ std::int32_t warps_of_before[kWarps], warps_of_mine[kWarps];
  const int expert = blockIdx.x, thread = threadIdx.x;
  std::int32_t before = 0;
  for (int e = thread; e < expert; e += kThreads) before += counts[e];
  const std::int32_t first = block_sum(before, warps_of_before);
  if (thread == 0) {
    begin[expert] = first;
    if (expert == experts - 1) begin[experts] = first + counts[expert];
  }
  const std::int32_t stretch = divided_up(pairs, kThreads);
  const std::int32_t from = thread * stretch, to = min(pairs, from + stretch);
  std::int32_t mine = 0;
  for (std::int32_t i = from; i < to; ++i) mine += ids[i] == expert;
  std::int32_t place = first + sum_before(mine, warps_of_mine);
  for (std::int32_t i = from; i < to; ++i)
    if (ids[i] == expert) sorted[place++] = i;
}

}  // namespace

void sort_pairs(const std::int32_t* ids, std::int32_t pairs, std::int32_t experts, const std::int32_t* counts,
                std::int32_t* begin, std::int32_t* sorted, cudaStream_t stream) {
  AFORE_LAUNCH(sort_pairs_kernel, dim3(experts), dim3(kThreads), 0, stream, ids, pairs, experts, counts, begin, sorted);
}

}  // namespace afore::kernels
