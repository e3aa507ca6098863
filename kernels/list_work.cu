#include "kernels/block.cuh"
#include "kernels/expert_rows.h"

// A block lists one share. What comes before the share it adds up itself: shares are few and in the L2 cache, and so no
// block waits for another. Sums are 64 bits wide and rows end at the launch's bounds, whatever the buffers say.
namespace afore::kernels {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / kWarpLanes;
constexpr int kMostForgetBlocks = 64;  // of a part

__device__ std::uint32_t tokens_of(const Share& share) { return share.tokens > 0 ? share.tokens : 0; }
// 32 bits wide: devices divide wider numbers slowly.
__device__ std::uint32_t tiles_of(std::uint32_t tokens, std::uint32_t tile_tokens) {
  return divided_up(tokens, tile_tokens);
}

__global__ __launch_bounds__(kThreads) void forget_rows_kernel(const Part* parts, WorkBounds bounds) {
  const Part part = parts[blockIdx.y];
  const std::int64_t pairs = std::int64_t{min(part.tokens, bounds.part_tokens)} * bounds.top_k;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < pairs; i += gridDim.x * kThreads)
    part.row_of_pair[i] = -1;
}

// Rows first … last are of the share's expert, from occurrence `occurrence` on.
__device__ void list_rows(const Part* parts, std::int32_t num_parts, const Share& share, std::int64_t first,
                          std::int64_t last, Row* rows) {
  std::int64_t base = 0;  // occurrences in parts before
  const std::int64_t begin = share.first, end = begin + (last - first);
  for (std::int32_t p = 0; p < num_parts; ++p) {
    const Part& part = parts[p];
    const std::int64_t here = part.counts[share.expert];
    const std::int32_t* sorted = part.sorted + part.begin[share.expert];
    const std::int64_t from = begin > base ? begin : base, to = min(end, base + here);
    for (std::int64_t o = from + threadIdx.x; o < to; o += kThreads) {
      const std::int32_t pair = sorted[o - base];
      const std::int64_t row = first + (o - begin);
      rows[row] = {p, pair};
      part.row_of_pair[pair] = static_cast<std::int32_t>(row);
    }
    base += here;
  }
  // A share with more tokens than its expert has: no pair's rows.
  const std::int64_t from = begin > base ? begin : base;
  for (std::int64_t o = from + threadIdx.x; o < end; o += kThreads) rows[first + (o - begin)] = {-1, -1};
}

__global__ __launch_bounds__(kThreads) void list_work_kernel(const Part* parts, const Share* shares, WorkCounts* counts,
                                                             WorkBounds bounds, std::int32_t tile_tokens, Row* rows,
                                                             Tile* tiles) {
  __shared__ std::int64_t warps_of_rows[kWarps], warps_of_tiles[kWarps];
  const std::int32_t num_shares = min(counts->shares, bounds.shares), mine = blockIdx.x;
  if (mine >= num_shares) {
    if (mine == 0 && threadIdx.x == 0) counts->rows = counts->tiles = 0;
    return;
  }
  std::int64_t first = 0, first_tile = 0;
  for (std::int32_t s = threadIdx.x; s < mine; s += kThreads) {
    first += tokens_of(shares[s]);
    first_tile += tiles_of(tokens_of(shares[s]), tile_tokens);
  }
  first = block_sum(first, warps_of_rows);
  if (first >= bounds.rows && mine > 0) return;
  first_tile = block_sum(first_tile, warps_of_tiles);

  const Share share = shares[mine];
  const std::int64_t wanted_end = first + tokens_of(share), end = min(wanted_end, std::int64_t{bounds.rows});
  list_rows(parts, bounds.parts, share, first, end, rows);
  const std::uint32_t tiles_here = tiles_of(static_cast<std::uint32_t>(end - first), tile_tokens);
  const std::int64_t end_tile = min(first_tile + tiles_here, std::int64_t{bounds.tiles});
  for (std::int64_t t = first_tile + threadIdx.x; t < end_tile; t += kThreads) {
    const std::int64_t row = first + (t - first_tile) * tile_tokens;
    tiles[t] = {share.slot, static_cast<std::int32_t>(row),
                static_cast<std::int32_t>(min(end - row, std::int64_t{tile_tokens}))};
  }
  // One share alone is the last, or the first to reach the bound.
  if (threadIdx.x == 0 && (mine == num_shares - 1 || wanted_end >= bounds.rows)) {
    counts->rows = static_cast<std::int32_t>(end);
    counts->tiles = static_cast<std::int32_t>(end_tile);
  }
}

__global__ void list_dense_kernel(std::int32_t rows, std::int32_t tile_tokens, WorkCounts* counts, Tile* tiles) {
  const std::int32_t num_tiles = divided_up(rows, tile_tokens);
  for (std::int32_t t = threadIdx.x; t < num_tiles; t += blockDim.x)
    tiles[t] = {0, t * tile_tokens, min(tile_tokens, rows - t * tile_tokens)};
  if (threadIdx.x == 0) *counts = {1, rows, num_tiles};
}

}  // namespace

void list_work(const Part* parts, const Share* shares, WorkCounts* counts, const WorkBounds& bounds,
               std::int32_t tile_tokens, Row* rows, Tile* tiles, cudaStream_t stream) {
  const std::int64_t part_pairs = std::int64_t{bounds.part_tokens} * bounds.top_k;
  if (bounds.parts > 0 && part_pairs > 0) {
    const std::int64_t blocks = min(divided_up(part_pairs, std::int64_t{kThreads}), std::int64_t{kMostForgetBlocks});
    AFORE_LAUNCH(forget_rows_kernel, dim3(static_cast<unsigned>(blocks), bounds.parts), dim3(kThreads), 0, stream,
                 parts, bounds);
  }
  AFORE_LAUNCH(list_work_kernel, dim3(bounds.shares > 0 ? bounds.shares : 1), dim3(kThreads), 0, stream, parts, shares,
               counts, bounds, tile_tokens, rows, tiles);
}

void list_dense(std::int32_t rows, std::int32_t tile_tokens, WorkCounts* counts, Tile* tiles, cudaStream_t stream) {
  AFORE_LAUNCH(list_dense_kernel, dim3(1), dim3(kThreads), 0, stream, rows, tile_tokens, counts, tiles);
}

}  // namespace afore::kernels
