#include "bench/gpu/blas.h"

#include <cublas_v2.h>
#include <fmt/format.h>

#include "bench/gpu/gpu.h"
#include "util/error.h"

namespace afore::bench::gpu {
namespace {

struct Handle {
  cublasHandle_t handle = nullptr;
  cublasStatus_t status = cublasCreate(&handle);
};

const Handle& blas() {
  static const Handle only;
  return only;
}

// cuBLAS counts columns first: its matrices are ours transposed, and y^T = w x^T.
void product(const std::uint16_t* x, const std::uint16_t* w, int rows, int n, int k, void* y, cudaDataType_t type) {
  const float one = 1, zero = 0;
  cublasStatus_t status = cublasSetStream(blas().handle, stream());
  if (status == CUBLAS_STATUS_SUCCESS)
    status = cublasGemmEx(blas().handle, CUBLAS_OP_T, CUBLAS_OP_N, n, rows, k, &one, w, CUDA_R_16BF, k, x, CUDA_R_16BF,
                          k, &zero, y, type, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  if (status != CUBLAS_STATUS_SUCCESS)
    throw Error(ErrorKind::io, fmt::format("cublasGemmEx: status {}", static_cast<int>(status)));
}

}  // namespace

std::string why_no_blas() {
  if (blas().status == CUBLAS_STATUS_SUCCESS) return "";
  return fmt::format("cublasCreate: status {}", static_cast<int>(blas().status));
}

void blas_product(const std::uint16_t* x, const std::uint16_t* w, int rows, int n, int k, float* y) {
  product(x, w, rows, n, k, y, CUDA_R_32F);
}
void blas_product(const std::uint16_t* x, const std::uint16_t* w, int rows, int n, int k, std::uint16_t* y) {
  product(x, w, rows, n, k, y, CUDA_R_16BF);
}

}  // namespace afore::bench::gpu
