#pragma once
// An FFN worker's part of a target: which rows it computes, where they come from and where they go. Everything that a
// plan decides lies in device buffers (shares, their number, parts), so that a launch is the same for every plan; the
// host gives only upper bounds.
//
// Rows of a worker are numbered share after share. Row r of a share is occurrence share.first + r of its expert in the
// target, counted over the attention workers (parts) in their order and within one in the order of its sorted pairs.
#include <cstdint>

#include "kernels/gpu.h"

namespace afore::kernels {

struct Share {
  std::int32_t expert = 0, first = 0, tokens = 0;
  std::int32_t slot = 0;  // of the worker's arena
};

// One attention worker's step as an FFN worker sees it.
struct Part {
  const std::uint16_t* x = nullptr;      // [tokens][hidden] bf16
  const std::int32_t* counts = nullptr;  // [experts]
  const std::int32_t* begin = nullptr;   // [experts + 1]
  const std::int32_t* sorted = nullptr;  // [tokens * top_k]
  const float* weights = nullptr;        // [tokens][top_k]
  std::int32_t* row_of_pair = nullptr;   // [tokens * top_k], this worker's: its row, or -1
  float* out = nullptr;                  // exact: [tokens][top_k][hidden]; partial: [tokens][hidden], this worker's
  std::int32_t tokens = 0;
};

struct Row {
  std::int32_t part = 0, pair = 0;
};

struct Tile {  // consecutive rows of one expert
  std::int32_t slot = 0, row = 0, rows = 0;
};

struct WorkCounts {                  // in device memory
  std::int32_t shares = 0;           // given
  std::int32_t rows = 0, tiles = 0;  // by list_work
};

// Bounds of a launch: nothing on the device may exceed them (kernels stop at them).
struct WorkBounds {
  std::int32_t parts = 0, shares = 0, rows = 0, tiles = 0;
  std::int32_t part_tokens = 0;  // the largest part's
  std::int32_t top_k = 0;
};

// Fills counts->rows and ->tiles, tiles (each share cut into tiles of tile_tokens, the last one shorter) and rows, and
// each part's row_of_pair. Shares, rows, tiles and a part's tokens beyond the bounds are left out. A share's rows
// beyond its expert's occurrences are {-1, -1}: gathered as zeros, and scattered nowhere.
void list_work(const Part* parts, const Share* shares, WorkCounts* counts, const WorkBounds& bounds,
               std::int32_t tile_tokens, Row* rows, Tile* tiles, cudaStream_t stream);

// xs[r] = the x of row r. [rows][hidden]; hidden a multiple of 8.
void gather_rows(const Part* parts, const Row* rows, const WorkCounts* counts, const WorkBounds& bounds,
                 std::int32_t hidden, std::uint16_t* xs, cudaStream_t stream);

// exact: out of each row's pair = y[r]. Other pairs are other workers'.
void scatter_rows(const Part* parts, const Row* rows, const WorkCounts* counts, const WorkBounds& bounds,
                  std::int32_t hidden, const float* y, cudaStream_t stream);
// partial: out[t] = the sum over k, ascending, of weights[t][k] * y[row of the pair], of this worker's rows alone; 0
// where there is none.
void sum_rows(const Part* parts, const WorkBounds& bounds, std::int32_t hidden, const float* y, cudaStream_t stream);

// A dense MLP as one share of `rows` rows in slot 0: counts and tiles alone.
void list_dense(std::int32_t rows, std::int32_t tile_tokens, WorkCounts* counts, Tile* tiles, cudaStream_t stream);

// On the attention worker. exact: residual = residual + ((w0 y0 + w1 y1) + …) [+ shared], float32, k in order, shared
// last; y: [tokens][top_k][hidden].
void combine_exact(const float* weights, const float* y, const float* shared, std::int32_t tokens, std::int32_t top_k,
                   std::int32_t hidden, float* residual, cudaStream_t stream);
// partial: residual += y[w] for every w of `used` in order, then shared. y: [workers][tokens][hidden]; used: a bit per
// worker, [workers / 32 rounded up] in device memory. shared may be null.
void combine_partial(const float* y, const std::uint32_t* used, std::int32_t workers, const float* shared,
                     std::int32_t tokens, std::int32_t hidden, float* residual, cudaStream_t stream);

namespace twin {
void list_work(const Part* parts, const Share* shares, WorkCounts* counts, const WorkBounds& bounds,
               std::int32_t tile_tokens, Row* rows, Tile* tiles);
void gather_rows(const Part* parts, const Row* rows, const WorkCounts* counts, const WorkBounds& bounds,
                 std::int32_t hidden, std::uint16_t* xs);
void scatter_rows(const Part* parts, const Row* rows, const WorkCounts* counts, const WorkBounds& bounds,
                  std::int32_t hidden, const float* y);
void sum_rows(const Part* parts, const WorkBounds& bounds, std::int32_t hidden, const float* y);
void list_dense(std::int32_t rows, std::int32_t tile_tokens, WorkCounts* counts, Tile* tiles);
void combine_exact(const float* weights, const float* y, const float* shared, std::int32_t tokens, std::int32_t top_k,
                   std::int32_t hidden, float* residual);
void combine_partial(const float* y, const std::uint32_t* used, std::int32_t workers, const float* shared,
                     std::int32_t tokens, std::int32_t hidden, float* residual);
}  // namespace twin

}  // namespace afore::kernels
