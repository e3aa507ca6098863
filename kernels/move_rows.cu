#include "kernels/block.cuh"
#include "kernels/expert_rows.h"

// Rows between attention workers' tensors and a worker's own, 16 bytes at a time. The grid has a block per row of the
// host's bound, up to a limit from which blocks take several.
namespace afore::kernels {
namespace {

constexpr int kThreads = 128;
constexpr std::int32_t kMostBlocks = 2048;

__global__ __launch_bounds__(kThreads) void gather_kernel(const Part* parts, const Row* rows, const WorkCounts* counts,
                                                          WorkBounds bounds, std::int32_t hidden, std::uint16_t* xs) {
  const std::int32_t end = min(counts->rows, bounds.rows), words = hidden / 8;
  for (std::int32_t r = blockIdx.x; r < end; r += gridDim.x) {
    const Row row = rows[r];
    Words* to = reinterpret_cast<Words*>(xs) + std::int64_t{r} * words;
    if (row.part < 0) {
      for (int i = threadIdx.x; i < words; i += kThreads) to[i] = {};
      continue;
    }
    const Words* from =
        reinterpret_cast<const Words*>(parts[row.part].x) + std::int64_t{row.pair / bounds.top_k} * words;
    for (int i = threadIdx.x; i < words; i += kThreads) to[i] = from[i];
  }
}

__global__ __launch_bounds__(kThreads) void scatter_kernel(const Part* parts, const Row* rows, const WorkCounts* counts,
                                                           WorkBounds bounds, std::int32_t hidden, const float* y) {
  const std::int32_t end = min(counts->rows, bounds.rows), words = hidden / 4;
  for (std::int32_t r = blockIdx.x; r < end; r += gridDim.x) {
    const Row row = rows[r];
    if (row.part < 0) continue;
    const Floats* from = reinterpret_cast<const Floats*>(y) + std::int64_t{r} * words;
    Floats* to = reinterpret_cast<Floats*>(parts[row.part].out) + std::int64_t{row.pair} * words;
    for (int i = threadIdx.x; i < words; i += kThreads) to[i] = from[i];
  }
}

}  // namespace

void gather_rows(const Part* parts, const Row* rows, const WorkCounts* counts, const WorkBounds& bounds,
                 std::int32_t hidden, std::uint16_t* xs, cudaStream_t stream) {
  if (bounds.rows == 0) return;
  AFORE_LAUNCH(gather_kernel, dim3(min(bounds.rows, kMostBlocks)), dim3(kThreads), 0, stream, parts, rows, counts,
               bounds, hidden, xs);
}

void scatter_rows(const Part* parts, const Row* rows, const WorkCounts* counts, const WorkBounds& bounds,
                  std::int32_t hidden, const float* y, cudaStream_t stream) {
  if (bounds.rows == 0) return;
  AFORE_LAUNCH(scatter_kernel, dim3(min(bounds.rows, kMostBlocks)), dim3(kThreads), 0, stream, parts, rows, counts,
               bounds, hidden, y);
}

}  // namespace afore::kernels
