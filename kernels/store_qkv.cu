// Queries, keys and values of a step: bias, a norm of each head, rotation, and into the cache.
#include <cmath>

#include "kernels/attention.h"
#include "kernels/bf16.h"
#include "kernels/reduce.cuh"

namespace afore::kernels {
namespace {

constexpr int kThreads = 128, kWarps = kThreads / kWarpLanes;
constexpr int kMostDim = 256, kPerLane = kMostDim / kWarpLanes;

// A head of a token's keys (which 0) or values (which 1) in its sequence's page.
__device__ __forceinline__ std::uint16_t* cached(const AttentionShape& shape, const TokenPlaces& places, int token,
                                                 int which, int kv_head, std::uint16_t* cache) {
  const std::int32_t position = places.position[token];
  const std::int32_t page = places.pages[places.pages_begin[places.slice[token]] + position / kPageTokens];
  const std::int64_t row = (std::int64_t{which} * shape.kv_heads + kv_head) * kPageTokens + position % kPageTokens;
  return cache + page * page_elements(shape) + row * shape.head_dim;
}

// One warp a head of a token: lane l has dimensions l, l + 32, …. Rotation joins two dimensions of different lanes, so
// a head goes through shared memory.
__global__ void store_qkv_kernel(AttentionShape shape, QkvWeights weights, const float* qkv, TokenPlaces places,
                                 const float* cos_sin, float* q, std::uint16_t* cache) {
  __shared__ float rows[kWarps][kMostDim];
  const int warp = threadIdx.x / kWarpLanes, lane = threadIdx.x % kWarpLanes;
  const int token = blockIdx.x, head = blockIdx.y * kWarps + warp, heads = shape.heads + 2 * shape.kv_heads;
  if (head >= heads) return;
  const int dim = shape.head_dim;
  const float* in = qkv + (std::int64_t{token} * heads + head) * dim;
  const float* bias = weights.bias == nullptr ? nullptr : weights.bias + std::int64_t{head} * dim;
  float values[kPerLane] = {};
#pragma unroll
  for (int j = 0; j < kPerLane; ++j) {
    const int d = lane + j * kWarpLanes;
    if (d < dim) values[j] = bias == nullptr ? in[d] : in[d] + bias[d];
  }
  if (head >= shape.heads + shape.kv_heads) {
    std::uint16_t* out = cached(shape, places, token, 1, head - shape.heads - shape.kv_heads, cache);
#pragma unroll
    for (int j = 0; j < kPerLane; ++j)
      if (lane + j * kWarpLanes < dim) out[lane + j * kWarpLanes] = bf16_of(values[j]);
    return;
  }

  const bool is_query = head < shape.heads;
  const float* norm = is_query ? weights.q_norm : weights.k_norm;
  if (norm != nullptr) {
    float sum = 0;
#pragma unroll
    for (int j = 0; j < kPerLane; ++j) sum = fmaf(values[j], values[j], sum);
    const float scale = 1.0f / sqrtf(lanes_sum(sum) / static_cast<float>(dim) + weights.eps);
#pragma unroll
    for (int j = 0; j < kPerLane; ++j)
      if (lane + j * kWarpLanes < dim) values[j] = values[j] * scale * norm[lane + j * kWarpLanes];
  }
  float* row = rows[warp];
#pragma unroll
  for (int j = 0; j < kPerLane; ++j) row[lane + j * kWarpLanes] = values[j];
  __syncwarp();

  const int half = shape.rotary_dim / 2;
  const float* cos = cos_sin + std::int64_t{places.position[token]} * shape.rotary_dim;
  float* query = is_query ? q + (std::int64_t{token} * shape.heads + head) * dim : nullptr;
  std::uint16_t* key = is_query ? nullptr : cached(shape, places, token, 0, head - shape.heads, cache);
  for (int d = lane; d < dim; d += kWarpLanes) {
    float value = row[d];
    if (d < half) value = value * cos[d] - row[d + half] * cos[half + d];
    else if (d < 2 * half) value = value * cos[d - half] + row[d - half] * cos[d];
    if (is_query) query[d] = value;
    else key[d] = bf16_of(value);
  }
}

}  // namespace

void store_qkv(const AttentionShape& shape, const QkvWeights& weights, const float* qkv, const TokenPlaces& places,
               std::int32_t tokens, const float* cos_sin, float* q, std::uint16_t* cache, cudaStream_t stream) {
  if (tokens == 0) return;
  const int heads = shape.heads + 2 * shape.kv_heads;
  AFORE_LAUNCH(store_qkv_kernel, dim3(tokens, (heads + kWarps - 1) / kWarps), dim3(kThreads), 0, stream, shape, weights,
               qkv, places, cos_sin, q, cache);
}

}  // namespace afore::kernels
