// Attention of a prompt's queries: a block for each run of tokens and a few heads of a kv head, chunk after chunk.
#include "kernels/attend_chunk.cuh"
#include "kernels/attention.h"

namespace afore::kernels {
namespace {

constexpr int kThreads = 256;
// Queries of a block are kQueryTile times as many; what they need must fit into 48 KiB of shared memory.
__host__ __device__ constexpr int tile_heads(int dim) { return dim <= 128 ? 4 : 1; }

// Behind what a chunk needs: how each row's chunk is joined.
struct Join {
  ChunkFactors factors;
  float weight;  // of all chunks so far
};
constexpr int shared_bytes(int rows, int dim) {
  return chunk_shared_bytes(rows, dim) + rows * static_cast<int>(sizeof(Join));
}

__global__ __launch_bounds__(kThreads, 2) void attend_prefill_kernel(AttentionShape shape, float scale, const float* q,
                                                                     const std::uint16_t* cache, TokenPlaces places,
                                                                     const QueryRun* runs, std::uint16_t* out) {
  AFORE_DYNAMIC_SHARED(unsigned char, bytes);
  const QueryRun run = runs[blockIdx.x];
  const int dim = shape.head_dim, group = shape.heads / shape.kv_heads;
  const int tiles = (group + tile_heads(dim) - 1) / tile_heads(dim);
  const int kv_head = blockIdx.y / tiles, first = blockIdx.y % tiles * tile_heads(dim);
  const int heads = group - first < tile_heads(dim) ? group - first : tile_heads(dim);
  const int rows = run.tokens * heads, head = kv_head * group + first;

  const ChunkShared shared = chunk_shared(bytes, rows, dim);
  Join* joins = reinterpret_cast<Join*>(bytes + chunk_shared_bytes(rows, dim));
  // Row r is head r % heads of token r / heads.
  for (int i = threadIdx.x; i < rows * dim; i += kThreads) {
    const int row = i / dim, token = run.first + row / heads;
    shared.q[i] = q[(std::int64_t{token} * shape.heads + head + row % heads) * dim + i % dim] * scale;
  }
  for (int row = threadIdx.x; row < rows; row += kThreads)
    shared.limits[row] = places.position[run.first + row / heads] + 1;
  const int positions = places.position[run.first + run.tokens - 1] + 1;

  const ChunkBlock<kThreads> block(rows, dim);
  const ChunkSource source = chunk_source(shape, cache, places, run.first, kv_head);
  float values[kRowsPerThread][2] = {}, most = -INFINITY, weight = 0;
  for (int begin = 0; begin < positions; begin += kChunkTokens) {
    const int end = positions < begin + kChunkTokens ? positions : begin + kChunkTokens;
    ChunkSums sums;
    block.attend(source, shared, begin, end, sums);
    const int own = threadIdx.x / kWarpLanes + threadIdx.x % kWarpLanes * block.kWarps;
    if (own < rows && shared.limits[own] > begin) {
      joins[own].factors = join_chunk(sums.most, sums.weight, most, weight);
      joins[own].weight = weight;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kRowsPerThread; ++k) {
      const int row = block.first_row + k * block.row_step;
      if (row >= rows || shared.limits[row] <= begin) continue;
      values[k][0] = join_value(values[k][0], sums.values[k][0], joins[row].factors);
      values[k][1] = join_value(values[k][1], sums.values[k][1], joins[row].factors);
    }
  }

#pragma unroll
  for (int k = 0; k < kRowsPerThread; ++k) {
    const int row = block.first_row + k * block.row_step;
    if (row >= rows) continue;
    const std::int64_t at = std::int64_t{run.first + row / heads} * shape.heads + head + row % heads;
    for (int e = 0; e < 2; ++e) out[at * dim + 2 * block.pair + e] = bf16_of(values[k][e] / joins[row].weight);
  }
}

}  // namespace

void attend_prefill(const AttentionShape& shape, const float* q, const std::uint16_t* cache, const TokenPlaces& places,
                    const QueryRun* runs, std::int32_t count, std::uint16_t* out, cudaStream_t stream) {
  if (count == 0) return;
  const int group = shape.heads / shape.kv_heads, heads = tile_heads(shape.head_dim);
  const int tiles = (group + heads - 1) / heads;
  const int bytes = shared_bytes(kQueryTile * (group < heads ? group : heads), shape.head_dim);
  AFORE_LAUNCH(attend_prefill_kernel, dim3(count, shape.kv_heads * tiles), dim3(kThreads), bytes, stream, shape,
               query_scale(shape), q, cache, places, runs, out);
}

}  // namespace afore::kernels
