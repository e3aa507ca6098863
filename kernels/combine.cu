#include "kernels/block.cuh"
#include "kernels/expert_rows.h"

// Experts' outputs into the residual stream, a block per token and four floats a thread: a stream of reads in the order
// in which they are added.
namespace afore::kernels {
namespace {

constexpr int kThreads = 128;

__device__ void add(Floats& sum, Floats y) {
  for (int i = 0; i < 4; ++i) sum.value[i] += y.value[i];
}

__global__ __launch_bounds__(kThreads) void combine_exact_kernel(const float* weights, const float* y,
                                                                 const float* shared, std::int32_t top_k,
                                                                 std::int32_t hidden, float* residual) {
  const std::int64_t token = blockIdx.x;
  const std::int32_t words = hidden / 4;
  const Floats* rows = reinterpret_cast<const Floats*>(y) + token * top_k * words;
  for (int i = threadIdx.x; i < words; i += kThreads) {
    Floats sum{};
    for (std::int32_t k = 0; k < top_k; ++k)
      add_product(sum, weights[token * top_k + k], rows[std::int64_t{k} * words + i]);
    Floats& to = reinterpret_cast<Floats*>(residual)[token * words + i];
    Floats total = to;
    add(total, sum);
    if (shared != nullptr) add(total, reinterpret_cast<const Floats*>(shared)[token * words + i]);
    to = total;
  }
}

__global__ __launch_bounds__(kThreads) void combine_partial_kernel(const float* y, const std::uint32_t* used,
                                                                   std::int32_t workers, const float* shared,
                                                                   std::int32_t tokens, std::int32_t hidden,
                                                                   float* residual) {
  const std::int64_t token = blockIdx.x;
  const std::int32_t words = hidden / 4;
  for (int i = threadIdx.x; i < words; i += kThreads) {
    Floats& to = reinterpret_cast<Floats*>(residual)[token * words + i];
    Floats total = to;
    for (std::int32_t w = 0; w < workers; ++w) {
      if ((used[w / 32] >> w % 32 & 1) == 0) continue;
      add(total, reinterpret_cast<const Floats*>(y)[(std::int64_t{w} * tokens + token) * words + i]);
    }
    if (shared != nullptr) add(total, reinterpret_cast<const Floats*>(shared)[token * words + i]);
    to = total;
  }
}

}  // namespace

void combine_exact(const float* weights, const float* y, const float* shared, std::int32_t tokens, std::int32_t top_k,
                   std::int32_t hidden, float* residual, cudaStream_t stream) {
  if (tokens == 0) return;
  AFORE_LAUNCH(combine_exact_kernel, dim3(tokens), dim3(kThreads), 0, stream, weights, y, shared, top_k, hidden,
               residual);
}

void combine_partial(const float* y, const std::uint32_t* used, std::int32_t workers, const float* shared,
                     std::int32_t tokens, std::int32_t hidden, float* residual, cudaStream_t stream) {
  if (tokens == 0) return;
  AFORE_LAUNCH(combine_partial_kernel, dim3(tokens), dim3(kThreads), 0, stream, y, used, workers, shared, tokens,
               hidden, residual);
}

}  // namespace afore::kernels
