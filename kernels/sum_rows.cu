#include "kernels/block.cuh"
#include "kernels/expert_rows.h"

// A block sums the rows of one token that this worker computed, four floats a thread. Rows of one token lie apart, so
// the order is the pairs', whatever the rows' is.
namespace afore::kernels {
namespace {

constexpr int kThreads = 128;
constexpr std::int32_t kMostBlocks = 1024;  // of a part

__global__ __launch_bounds__(kThreads) void sum_rows_kernel(const Part* parts, WorkBounds bounds, std::int32_t hidden,
                                                            const float* y) {
  const Part part = parts[blockIdx.y];
  const std::int32_t tokens = min(part.tokens, bounds.part_tokens), words = hidden / 4;
  const Floats* rows = reinterpret_cast<const Floats*>(y);
  for (std::int32_t t = blockIdx.x; t < tokens; t += gridDim.x) {
    const std::int64_t pair = std::int64_t{t} * bounds.top_k;
    Floats* out = reinterpret_cast<Floats*>(part.out) + std::int64_t{t} * words;
    for (int i = threadIdx.x; i < words; i += kThreads) {
      Floats sum{};
      for (std::int32_t k = 0; k < bounds.top_k; ++k) {
        const std::int32_t row = part.row_of_pair[pair + k];
        if (row < 0) continue;
        add_product(sum, part.weights[pair + k], rows[std::int64_t{row} * words + i]);
      }
      out[i] = sum;
    }
  }
}

}  // namespace

void sum_rows(const Part* parts, const WorkBounds& bounds, std::int32_t hidden, const float* y, cudaStream_t stream) {
  if (bounds.parts == 0 || bounds.part_tokens == 0) return;
  AFORE_LAUNCH(sum_rows_kernel, dim3(min(bounds.part_tokens, kMostBlocks), bounds.parts), dim3(kThreads), 0, stream,
               parts, bounds, hidden, y);
}

}  // namespace afore::kernels
