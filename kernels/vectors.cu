#include "kernels/bf16.h"
#include "kernels/vectors.h"

namespace afore::kernels {
namespace {

constexpr int kThreads = 256;

__global__ void embed_kernel(const std::uint16_t* table, const std::int32_t* ids, std::int32_t n, float* out) {
  const std::uint16_t* row = table + std::int64_t{ids[blockIdx.x]} * n;
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[std::int64_t{blockIdx.x} * n + i] = float_of(row[i]);
}

}  // namespace

void embed(const std::uint16_t* table, const std::int32_t* ids, std::int32_t tokens, std::int32_t n, float* out,
           cudaStream_t stream) {
  if (tokens == 0) return;
  AFORE_LAUNCH(embed_kernel, dim3(tokens), dim3(kThreads), 0, stream, table, ids, n, out);
}

}  // namespace afore::kernels
