#pragma once
// The arithmetic of attention over one chunk of positions, the same for decode steps and prompts. A block has up to a
// few rows of queries, each a head of a token, which share a sequence and a kv head. Keys and values of a page come to
// shared memory once for all rows, keys of the next page while values of this one are weighed.
//
// The order of every sum is said here and depends on positions alone; products and sums that could be contracted are
// explicit fused multiply-adds. So the two kernels that include this give the same bits.
#include <cmath>

#include "kernels/attention.h"
#include "kernels/bf16.h"
#include "kernels/exact_exp.h"
#include "kernels/primitives.h"
#include "kernels/reduce.cuh"

namespace afore::kernels {

constexpr int kMostHeadDim = 256;
constexpr int kRowsPerThread = 16;  // of the sums of values, two dimensions of each

struct alignas(16) Floats4 {
  float of[4];
};
struct alignas(16) Bf16x8 {
  std::uint16_t of[8];
};

// Keys of 4 positions, 2 parts of 16 bytes of each, are read at once: without conflicts if rows are 2 or 6 parts apart
// modulo 8.
__host__ __device__ constexpr int key_stride(int dim) { return ((dim / 8 + 5) / 8 * 8 + 2) * 8; }

struct ChunkShared {
  float* q;               // [rows][dim], scaled
  float* weights;         // [rows][kPageTokens], of the page
  float* factors;         // [rows]: what the sums before the page are multiplied by
  std::int32_t* limits;   // [rows]: how many positions the row sees
  std::uint16_t* keys;    // [kPageTokens][key_stride]
  std::uint16_t* values;  // [kPageTokens][dim]
};
__host__ __device__ constexpr int padded_rows(int rows) { return (rows + 3) / 4 * 4; }
__host__ __device__ constexpr int chunk_shared_bytes(int rows, int dim) {
  return (rows * dim + rows * kPageTokens + 2 * padded_rows(rows)) * 4 + kPageTokens * (key_stride(dim) + dim) * 2;
}
__device__ __forceinline__ ChunkShared chunk_shared(unsigned char* bytes, int rows, int dim) {
  ChunkShared shared;
  shared.q = reinterpret_cast<float*>(bytes);
  shared.weights = shared.q + rows * dim;
  shared.factors = shared.weights + rows * kPageTokens;
  shared.limits = reinterpret_cast<std::int32_t*>(shared.factors + padded_rows(rows));
  shared.keys = reinterpret_cast<std::uint16_t*>(shared.limits + padded_rows(rows));
  shared.values = shared.keys + kPageTokens * key_stride(dim);
  return shared;
}

// What a block knows of its sequence.
struct ChunkSource {
  const std::uint16_t* cache;
  const std::int32_t* pages;  // the sequence's
  std::int64_t page_elements;
  std::int32_t head_elements;  // from the page's start to the keys of the kv head
  std::int32_t values_behind;  // from keys to values of a head
  std::int32_t dim;
};
__device__ __forceinline__ ChunkSource chunk_source(const AttentionShape& shape, const std::uint16_t* cache,
                                                    const TokenPlaces& places, int token, int kv_head) {
  const std::int32_t head = kPageTokens * shape.head_dim;
  return {cache,
          places.pages + places.pages_begin[places.slice[token]],
          page_elements(shape),
          kv_head * head,
          shape.kv_heads * head,
          shape.head_dim};
}

// Sums over the positions of a chunk so far. Row warp + k * warps is computed by warp `warp`, whose lane k has its
// largest score and its sum of weights. Sums of values: thread t has dimensions 2 (t % pairs) and the next of rows
// t / pairs + k * (threads / pairs); threads that are left over repeat what others do. Of a row that sees nothing of
// the chunk they are no numbers.
struct ChunkSums {
  float values[kRowsPerThread][2];
  float most, weight;
};

template <int kThreads>
struct ChunkBlock {
  static constexpr int kWarps = kThreads / kWarpLanes;
  int rows, pairs, row_step, first_row, pair;

  __device__ ChunkBlock(int rows_, int dim)
      : rows(rows_),
        pairs(dim / 2),
        row_step(kThreads / pairs),
        first_row(threadIdx.x / pairs),
        pair(threadIdx.x % pairs) {}

  // Keys or values of a page into shared memory, rows `stride` elements apart. Nothing waits here.
  __device__ void copy(const ChunkSource& source, int page, bool values, std::uint16_t* to, int stride) const {
    const std::uint16_t* from = source.cache + source.pages[page] * source.page_elements + source.head_elements +
                                (values ? source.values_behind : 0);
    const int parts = source.dim / 8;
    for (int i = threadIdx.x; i < kPageTokens * parts; i += kThreads)
      copy_async_16(to + i / parts * stride + i % parts * 8, from + i * 8, 16);
    copy_async_commit();
  }

  // Weights of a page's positions: one warp a row, two lanes a position.
  __device__ void score(const ChunkShared& shared, int dim, int page_begin, ChunkSums& sums) const {
    const int warp = threadIdx.x / kWarpLanes, lane = threadIdx.x % kWarpLanes;
    const int slot = lane / 2, part = lane % 2;
    const std::uint16_t* key = shared.keys + slot * key_stride(dim);
    for (int k = 0, row = warp; row < rows; ++k, row += kWarps) {
      const int seen = shared.limits[row] - page_begin;
      float even = 0, odd = 0;
      for (int d = part * 8; d < dim; d += 16) {
        const Bf16x8 eight = *reinterpret_cast<const Bf16x8*>(key + d);
        for (int half = 0; half < 2; ++half) {
          const Floats4 four = *reinterpret_cast<const Floats4*>(shared.q + row * dim + d + 4 * half);
          for (int e = 0; e < 4; e += 2) {
            even = fmaf(four.of[e], float_of(eight.of[4 * half + e]), even);
            odd = fmaf(four.of[e + 1], float_of(eight.of[4 * half + e + 1]), odd);
          }
        }
      }
      float dot = even + odd;
      dot += __shfl_xor_sync(kAllLanes, dot, 1);
      if (slot >= seen) dot = -INFINITY;
      const float before = __shfl_sync(kAllLanes, sums.most, k), page_most = lanes_max<2>(dot);
      const float most = before < page_most ? page_most : before;
      const float weight = exact_exp(dot - most), factor = exact_exp(before - most);
      const float total = lanes_sum<2>(weight);
      if (lane == k) {
        sums.most = most;
        sums.weight = fmaf(sums.weight, factor, total);
      }
      if (part == 0) shared.weights[row * kPageTokens + slot] = weight;
      if (lane == 0) shared.factors[row] = factor;
    }
  }

  // Positions behind a row's limit may hold anything: they are not touched.
  __device__ void weigh(const ChunkShared& shared, int dim, int page_begin, ChunkSums& sums) const {
    float low[kPageTokens], high[kPageTokens];
    for (int p = 0; p < kPageTokens; ++p) {
      const std::uint32_t two = *reinterpret_cast<const std::uint32_t*>(shared.values + p * dim + 2 * pair);
      low[p] = __uint_as_float(two << 16);
      high[p] = __uint_as_float(two & 0xffff0000u);
    }
#pragma unroll
    for (int k = 0; k < kRowsPerThread; ++k) {
      const int row = first_row + k * row_step;
      if (row >= rows) continue;
      const int seen = shared.limits[row] - page_begin;
      const float factor = shared.factors[row];
      float a = sums.values[k][0] * factor, b = sums.values[k][1] * factor;
#pragma unroll
      for (int p = 0; p < kPageTokens; p += 4) {
        const Floats4 four = *reinterpret_cast<const Floats4*>(shared.weights + row * kPageTokens + p);
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          if (p + e >= seen) continue;
          a = fmaf(four.of[e], low[p + e], a);
          b = fmaf(four.of[e], high[p + e], b);
        }
      }
      sums.values[k][0] = a;
      sums.values[k][1] = b;
    }
  }

  // Positions begin … end of the sequence, begin the chunk's first. q and limits are in shared memory, not yet waited
  // for. Returns without a barrier behind the last page's values.
  __device__ void attend(const ChunkSource& source, const ChunkShared& shared, int begin, int end,
                         ChunkSums& sums) const {
    for (int k = 0; k < kRowsPerThread; ++k) sums.values[k][0] = sums.values[k][1] = 0;
    sums.most = -INFINITY;
    sums.weight = 0;
    const int dim = source.dim, stride = key_stride(dim), pages = (end + kPageTokens - 1) / kPageTokens;
    copy(source, begin / kPageTokens, false, shared.keys, stride);
    for (int page = begin / kPageTokens; page < pages; ++page) {
      copy_async_wait<0>();
      __syncthreads();  // keys are here, values of the page before are weighed
      copy(source, page, true, shared.values, dim);
      score(shared, dim, page * kPageTokens, sums);
      copy_async_wait<0>();
      __syncthreads();  // values and weights are here, keys are used
      if (page + 1 < pages) copy(source, page + 1, false, shared.keys, stride);
      weigh(shared, dim, page * kPageTokens, sums);
    }
  }
};

// Joins a chunk's sums to those of the chunks before it.
struct ChunkFactors {
  float before, chunk;
};
__device__ __forceinline__ ChunkFactors join_chunk(float chunk_most, float chunk_weight, float& most, float& weight) {
  const float now = most < chunk_most ? chunk_most : most;
  const ChunkFactors factors{exact_exp(most - now), exact_exp(chunk_most - now)};
  weight = fmaf(weight, factors.before, chunk_weight * factors.chunk);
  most = now;
  return factors;
}
__device__ __forceinline__ float join_value(float before, float chunk, const ChunkFactors& factors) {
  return fmaf(before, factors.before, chunk * factors.chunk);
}

inline float query_scale(const AttentionShape& shape) {
  return static_cast<float>(1 / std::sqrt(static_cast<double>(shape.head_dim)));
}

}  // namespace afore::kernels
