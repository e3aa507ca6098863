#pragma once
// The product of a few rows of activations with 64 rows of each of one or two weight matrices, by a block of four
// warps.
//
// With 1 to 64 tokens an expert has less arithmetic than a device does in the time of reading its weights, so what
// matters is that enough bytes are under way: about 5 TB/s times 0.7 µs, 25 to 30 KiB an SM on Hopper. A stage of 64
// columns is 8 KiB a matrix (rows of 128 bytes, whole lines) and all stages but one are under way: of four, 48 KiB a
// block of two matrices, of which three fit into an SM with tiles of 16 rows (72 KiB each) and two with 64 rows (96
// KiB).
//
// Each warp multiplies all rows with 16 columns of each matrix, so that weights are read from shared memory once. Its
// sums grow by 16 products at a time in ascending k, zeros beyond the end: the order depends on k alone. Chunks of 16
// bytes lie in a row at their number xor the row's, so that the eight rows of a load of matrices are in eight banks.
#include <cstdint>

#include "kernels/block.cuh"
#include "kernels/primitives.h"

namespace afore::kernels {

inline constexpr int kProductThreads = 128;
inline constexpr int kProductColumns = 64;                  // of the output, by block and matrix
inline constexpr int kStageDepth = 64;                      // of k
inline constexpr int kChunk = 8;                            // bf16 in 16 bytes
inline constexpr int kChunksPerRow = kStageDepth / kChunk;  // 8: the xor is of three bits
inline constexpr int kRowBytes = kStageDepth * 2;
inline constexpr int kRowsPerPass = kProductThreads / kChunksPerRow;  // that the block copies at once

// Rows of k bf16 each, of which `count` exist, perhaps more than a block takes. rows: aligned to 16 bytes, and k a
// multiple of 8.
struct ProductRows {
  const std::uint16_t* rows;
  std::int32_t count;
};

template <int kRows, int kMatrices>
struct TileProduct {
  static constexpr int kStageRows = kRows + kMatrices * kProductColumns;
  static constexpr int kStageBytes = kStageRows * kRowBytes;
  // One matrix has blocks enough for a device only where it is tall, so that each of them keeps more under way.
  static constexpr int kStages = kMatrices == 1 && kRows <= 32 ? 8 : 4;
  static constexpr int kSharedBytes = kStages * kStageBytes;
  static_assert(kRows % kRowsPerPass == 0 && kProductColumns % kRowsPerPass == 0);

  ProductRows x;
  ProductRows w[kMatrices];
  std::int32_t k;
  unsigned char* shared;  // kSharedBytes
  // By matrix, 16 rows of x, 8 of the warp's columns, and place in the fragment (row_of, column_of).
  float sum[kMatrices][kRows / 16][2][4] = {};

  // kPasses times 16 rows of `from` into a stage's rows from `stage` on.
  template <int kPasses>
  __device__ void copy(const ProductRows& from, std::int32_t k_begin, unsigned char* stage) {
    const int chunk = threadIdx.x % kChunksPerRow, first_row = threadIdx.x / kChunksPerRow;
    const std::int32_t at = k_begin + chunk * kChunk;
    unsigned char* to = stage + first_row * kRowBytes + (chunk ^ first_row % 8) * 16;
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) {
      const int row = first_row + pass * kRowsPerPass;
      const bool exists = row < from.count && at < k;
      copy_async_16(to + pass * kRowsPerPass * kRowBytes, exists ? from.rows + std::int64_t{row} * k + at : from.rows,
                    exists ? 16 : 0);
    }
  }

  __device__ void copy_stage(std::int32_t step) {
    unsigned char* stage = shared + step % kStages * kStageBytes;
    copy<kRows / kRowsPerPass>(x, step * kStageDepth, stage);
#pragma unroll
    for (int m = 0; m < kMatrices; ++m)
      copy<kProductColumns / kRowsPerPass>(w[m], step * kStageDepth, stage + (kRows + m * kProductColumns) * kRowBytes);
  }

  __device__ void multiply_stage(std::int32_t step) {
    const unsigned char* stage = shared + step % kStages * kStageBytes;
    const int lane = threadIdx.x % kWarpLanes, warp = threadIdx.x / kWarpLanes;
    // Matrices of x: rows 0-7 and 8-15 of the first 8 columns, then of the next; of w: the first and the next 8 columns
    // of rows 0-7, then of rows 8-15.
    const unsigned char* x_row = stage + (lane % 8 + lane / 8 % 2 * 8) * kRowBytes;
    const unsigned char* w_row = stage + (kRows + warp * 16 + lane % 8 + lane / 16 * 8) * kRowBytes;
#pragma unroll
    for (int at = 0; at < kStageDepth / 16; ++at) {
      std::uint32_t a[kRows / 16][4];
#pragma unroll
      for (int r = 0; r < kRows / 16; ++r)
        load_matrix_x4(a[r], x_row + r * 16 * kRowBytes + ((at * 2 + lane / 16) ^ lane % 8) * 16);
#pragma unroll
      for (int m = 0; m < kMatrices; ++m) {
        std::uint32_t b[4];
        load_matrix_x4(b, w_row + m * kProductColumns * kRowBytes + ((at * 2 + lane / 8 % 2) ^ lane % 8) * 16);
        const std::uint32_t left[2] = {b[0], b[1]}, right[2] = {b[2], b[3]};
#pragma unroll
        for (int r = 0; r < kRows / 16; ++r) {
          mma_m16n8k16(sum[m][r][0], a[r], left);
          mma_m16n8k16(sum[m][r][1], a[r], right);
        }
      }
    }
  }

  // A group of copies is committed for every step, even if it is empty, so that the same number is always under way.
  // Steps beyond the last would be zeros: they are left out for speed alone.
  __device__ void run() {
    const std::int32_t steps = divided_up(k, kStageDepth);
    for (std::int32_t step = 0; step < kStages - 1; ++step) {
      if (step < steps) copy_stage(step);
      copy_async_commit();
    }
    for (std::int32_t step = 0; step < steps; ++step) {
      copy_async_wait<kStages - 2>();
      __syncthreads();  // the step's copies of all threads; and all have multiplied the stage that is filled next
      if (step + kStages - 1 < steps) copy_stage(step + kStages - 1);
      copy_async_commit();
      multiply_stage(step);
    }
  }

  // Of place q in sum[…][r][half].
  __device__ static int row_of(int r, int q) { return r * 16 + threadIdx.x % kWarpLanes / 4 + q / 2 * 8; }
  __device__ static int column_of(int half, int q) {
    return threadIdx.x / kWarpLanes * 16 + half * 8 + threadIdx.x % 4 * 2 + q % 2;
  }
};

}  // namespace afore::kernels
