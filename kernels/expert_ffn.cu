#include "kernels/expert_ffn.h"

#include <type_traits>

#include "kernels/bf16.h"
#include "kernels/exact_exp.h"
#include "kernels/tile_product.cuh"

// Blocks are numbered by tile first, so that tiles of one expert run at the same time on the same weights, which then
// come from the L2 cache but once.
namespace afore::kernels {
namespace {

__device__ float silu(float x) { return x / (1.0f + exact_exp(-x)); }

__device__ const std::uint16_t* matrices(const ExpertArena& arena, std::int32_t slot) {
  return reinterpret_cast<const std::uint16_t*>(arena.base + slot * arena.slot_bytes);
}

template <int kRows>
__global__ __launch_bounds__(kProductThreads) void gate_up_kernel(ExpertArena arena, const std::uint16_t* xs,
                                                                  const Tile* tiles, const WorkCounts* counts,
                                                                  std::uint16_t* h) {
  AFORE_DYNAMIC_SHARED(unsigned char, shared);
  if (static_cast<std::int32_t>(blockIdx.x) >= counts->tiles) return;
  const Tile tile = tiles[blockIdx.x];
  const std::int32_t hidden = arena.hidden, intermediate = arena.intermediate;
  const std::int32_t first = blockIdx.y * kProductColumns, columns = intermediate - first;
  const std::uint16_t* gate = matrices(arena, tile.slot) + std::int64_t{first} * hidden;
  const std::uint16_t* up = gate + std::int64_t{intermediate} * hidden;
  using Product = TileProduct<kRows, 2>;
  Product product{{xs + std::int64_t{tile.row} * hidden, tile.rows}, {{gate, columns}, {up, columns}}, hidden, shared};
  product.run();
#pragma unroll
  for (int r = 0; r < kRows / 16; ++r)
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int q = 0; q < 4; q += 2) {
        const int row = Product::row_of(r, q), column = Product::column_of(half, q);
        if (row >= tile.rows || column >= columns) continue;
        const float* g = &product.sum[0][r][half][q];
        const float* u = &product.sum[1][r][half][q];
        const std::uint32_t low = bf16_of(silu(g[0]) * u[0]), high = bf16_of(silu(g[1]) * u[1]);
        std::uint16_t* to = h + std::int64_t{tile.row + row} * intermediate + first + column;
        *reinterpret_cast<std::uint32_t*>(to) = low | high << 16;
      }
}

// y[row][first … first + columns) of `rows` rows of n.
template <int kRows>
__device__ void multiply_and_store(const ProductRows& x, const std::uint16_t* w, std::int32_t k, std::int32_t n,
                                   unsigned char* shared, float* y) {
  const std::int32_t first = blockIdx.y * kProductColumns, columns = n - first;
  using Product = TileProduct<kRows, 1>;
  Product product{x, {{w + std::int64_t{first} * k, columns}}, k, shared};
  product.run();
#pragma unroll
  for (int r = 0; r < kRows / 16; ++r)
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int q = 0; q < 4; ++q) {
        const int row = Product::row_of(r, q), column = Product::column_of(half, q);
        if (row < x.count && column < columns) y[std::int64_t{row} * n + first + column] = product.sum[0][r][half][q];
      }
}

template <int kRows>
__global__ __launch_bounds__(kProductThreads) void down_kernel(ExpertArena arena, const std::uint16_t* h,
                                                               const Tile* tiles, const WorkCounts* counts, float* y) {
  AFORE_DYNAMIC_SHARED(unsigned char, shared);
  if (static_cast<std::int32_t>(blockIdx.x) >= counts->tiles) return;
  const Tile tile = tiles[blockIdx.x];
  const std::int64_t hidden = arena.hidden, intermediate = arena.intermediate;
  multiply_and_store<kRows>({h + tile.row * intermediate, tile.rows},
                            matrices(arena, tile.slot) + 2 * intermediate * hidden, arena.intermediate, arena.hidden,
                            shared, y + tile.row * hidden);
}

template <int kRows>
__global__ __launch_bounds__(kProductThreads) void linear_kernel(const std::uint16_t* x, const std::uint16_t* w,
                                                                 std::int32_t rows, std::int32_t n, std::int32_t k,
                                                                 float* y) {
  AFORE_DYNAMIC_SHARED(unsigned char, shared);
  const std::int64_t first = std::int64_t{blockIdx.x} * kRows;
  multiply_and_store<kRows>({x + first * k, rows - static_cast<std::int32_t>(first)}, w, k, n, shared, y + first * n);
}

template <class Kernel>
cudaError_t allow_shared(Kernel* kernel, int bytes) {
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}

template <int kRows>
cudaError_t prepare_tiles_of() {
  constexpr int kTwo = TileProduct<kRows, 2>::kSharedBytes, kOne = TileProduct<kRows, 1>::kSharedBytes;
  cudaError_t error = allow_shared(gate_up_kernel<kRows>, kTwo);
  if (error == cudaSuccess) error = allow_shared(down_kernel<kRows>, kOne);
  if (error == cudaSuccess) error = allow_shared(linear_kernel<kRows>, kOne);
  return error;
}

dim3 blocks_of(std::int32_t tiles, std::int32_t columns) { return dim3(tiles, divided_up(columns, kProductColumns)); }

// Calls f with the tile size as a constant.
template <class F>
void with_tile(std::int32_t tile_tokens, const F& f) {
  if (tile_tokens == 16) f(std::integral_constant<int, 16>());
  else if (tile_tokens == 32) f(std::integral_constant<int, 32>());
  else f(std::integral_constant<int, 64>());
}

}  // namespace

void expert_gate_up(const ExpertArena& arena, const std::uint16_t* xs, const Tile* tiles, const WorkCounts* counts,
                    std::int32_t most_tiles, std::int32_t tile_tokens, std::uint16_t* h, cudaStream_t stream) {
  if (most_tiles == 0) return;
  with_tile(tile_tokens, [&](auto rows) {
    AFORE_LAUNCH(gate_up_kernel<rows>, blocks_of(most_tiles, arena.intermediate), dim3(kProductThreads),
                 (TileProduct<rows, 2>::kSharedBytes), stream, arena, xs, tiles, counts, h);
  });
}

void expert_down(const ExpertArena& arena, const std::uint16_t* h, const Tile* tiles, const WorkCounts* counts,
                 std::int32_t most_tiles, std::int32_t tile_tokens, float* y, cudaStream_t stream) {
  if (most_tiles == 0) return;
  with_tile(tile_tokens, [&](auto rows) {
    AFORE_LAUNCH(down_kernel<rows>, blocks_of(most_tiles, arena.hidden), dim3(kProductThreads),
                 (TileProduct<rows, 1>::kSharedBytes), stream, arena, h, tiles, counts, y);
  });
}

void linear(const std::uint16_t* x, const std::uint16_t* w, std::int32_t rows, std::int32_t n, std::int32_t k, float* y,
            cudaStream_t stream) {
  if (rows == 0 || n == 0) return;
  with_tile(rows <= 16   ? 16
            : rows <= 32 ? 32
                         : 64,
            [&](auto tile) {
              AFORE_LAUNCH(linear_kernel<tile>, blocks_of(divided_up(rows, int{tile}), n), dim3(kProductThreads),
                           (TileProduct<tile, 1>::kSharedBytes), stream, x, w, rows, n, k, y);
            });
}

cudaError_t prepare_expert_ffn() {
  cudaError_t error = prepare_tiles_of<16>();
  if (error == cudaSuccess) error = prepare_tiles_of<32>();
  if (error == cudaSuccess) error = prepare_tiles_of<64>();
  return error;
}

}  // namespace afore::kernels
