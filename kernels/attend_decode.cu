// Attention of single queries: a block for each token, kv head and chunk of positions, then one that joins the chunks.
#include "kernels/attend_chunk.cuh"
#include "kernels/attention.h"

namespace afore::kernels {
namespace {

constexpr int kThreads = 128;
constexpr int kTileHeads = 16;  // query heads of a kv head that one block computes

// Scratch: sums of values [count][chunks][heads][dim], then largest score and sum of weights [count][chunks][heads][2].
struct Parts {
  float* values;
  float* totals;
};
__host__ __device__ std::int32_t chunks_of(std::int32_t positions) {
  return (positions + kChunkTokens - 1) / kChunkTokens;
}

__global__ __launch_bounds__(kThreads) void attend_decode_kernel(AttentionShape shape, float scale, const float* q,
                                                                 const std::uint16_t* cache, TokenPlaces places,
                                                                 const std::int32_t* tokens, Parts parts) {
  AFORE_DYNAMIC_SHARED(unsigned char, bytes);
  const int token = tokens[blockIdx.x], chunk = blockIdx.y, begin = chunk * kChunkTokens;
  const int positions = places.position[token] + 1;
  if (begin >= positions) return;
  const int group = shape.heads / shape.kv_heads, tiles = (group + kTileHeads - 1) / kTileHeads;
  const int kv_head = blockIdx.z / tiles, first = blockIdx.z % tiles * kTileHeads;
  const int rows = group - first < kTileHeads ? group - first : kTileHeads, dim = shape.head_dim;
  const int head = kv_head * group + first;

  const ChunkShared shared = chunk_shared(bytes, rows, dim);
  const float* query = q + (std::int64_t{token} * shape.heads + head) * dim;
  for (int i = threadIdx.x; i < rows * dim; i += kThreads) shared.q[i] = query[i] * scale;
  for (int row = threadIdx.x; row < rows; row += kThreads) shared.limits[row] = positions;
  const int end = positions < begin + kChunkTokens ? positions : begin + kChunkTokens;
  const ChunkBlock<kThreads> block(rows, dim);
  ChunkSums sums;
  block.attend(chunk_source(shape, cache, places, token, kv_head), shared, begin, end, sums);

  const std::int64_t part = (std::int64_t{blockIdx.x} * gridDim.y + chunk) * shape.heads + head;
  const int row = threadIdx.x / kWarpLanes + threadIdx.x % kWarpLanes * block.kWarps;
  if (row < rows) {
    parts.totals[(part + row) * 2] = sums.most;
    parts.totals[(part + row) * 2 + 1] = sums.weight;
  }
#pragma unroll
  for (int k = 0; k < kRowsPerThread; ++k) {
    const int own = block.first_row + k * block.row_step;
    if (own >= rows) continue;
    float* values = parts.values + (part + own) * dim + 2 * block.pair;
    values[0] = sums.values[k][0];
    values[1] = sums.values[k][1];
  }
}

__global__ void join_chunks_kernel(AttentionShape shape, TokenPlaces places, const std::int32_t* tokens,
                                   std::int32_t most_chunks, Parts parts, std::uint16_t* out) {
  const int token = tokens[blockIdx.x], head = blockIdx.y, dim = shape.head_dim;
  const int chunks = chunks_of(places.position[token] + 1);
  for (int d = threadIdx.x; d < dim; d += kThreads) {
    float value = 0, most = -INFINITY, weight = 0;
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const std::int64_t part = (std::int64_t{blockIdx.x} * most_chunks + chunk) * shape.heads + head;
      const ChunkFactors factors = join_chunk(parts.totals[part * 2], parts.totals[part * 2 + 1], most, weight);
      value = join_value(value, parts.values[part * dim + d], factors);
    }
    out[(std::int64_t{token} * shape.heads + head) * dim + d] = bf16_of(value / weight);
  }
}

}  // namespace

std::int64_t attend_scratch_floats(const AttentionShape& shape, std::int32_t count, std::int32_t most_positions) {
  return std::int64_t{count} * chunks_of(most_positions) * shape.heads * (shape.head_dim + 2);
}

void attend_decode(const AttentionShape& shape, const float* q, const std::uint16_t* cache, const TokenPlaces& places,
                   const std::int32_t* tokens, std::int32_t count, std::int32_t most_positions, float* scratch,
                   std::uint16_t* out, cudaStream_t stream) {
  if (count == 0) return;
  const std::int32_t chunks = chunks_of(most_positions), group = shape.heads / shape.kv_heads;
  const std::int32_t tiles = (group + kTileHeads - 1) / kTileHeads;
  const Parts parts{scratch, scratch + std::int64_t{count} * chunks * shape.heads * shape.head_dim};
  const int bytes = chunk_shared_bytes(group < kTileHeads ? group : kTileHeads, shape.head_dim);
  AFORE_LAUNCH(attend_decode_kernel, dim3(count, chunks, shape.kv_heads * tiles), dim3(kThreads), bytes, stream, shape,
               query_scale(shape), q, cache, places, tokens, parts);
  AFORE_LAUNCH(join_chunks_kernel, dim3(count, shape.heads), dim3(kThreads), 0, stream, shape, places, tokens, chunks,
               parts, out);
}

}  // namespace afore::kernels
