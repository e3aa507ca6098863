#pragma once
// Embedding, RMSNorm and the taking of rows. Everything is batch-invariant.
#include <cstdint>

#include "kernels/gpu.h"

namespace afore::kernels {

// out[t] = table[ids[t]], widened. table: [vocab][n] bf16, out: [tokens][n] float32.
void embed(const std::uint16_t* table, const std::int32_t* ids, std::int32_t tokens, std::int32_t n, float* out,
           cudaStream_t stream);
// y = bf16(x / rms(x) * weight), rms(x) = sqrt(mean of squares + eps). x: [rows][n] float32, y: [rows][n] bf16.
void rms_norm(const float* x, const float* weight, float eps, std::int32_t rows, std::int32_t n, std::uint16_t* y,
              cudaStream_t stream);
// residual += delta, then y = the norm of it.
void add_rms_norm(float* residual, const float* delta, const float* weight, float eps, std::int32_t rows,
                  std::int32_t n, std::uint16_t* y, cudaStream_t stream);
// residual += delta.
void add(float* residual, const float* delta, std::int64_t count, cudaStream_t stream);
// out[i] = x[rows[i]].
void take_rows(const float* x, const std::int32_t* rows, std::int32_t count, std::int32_t n, float* out,
               cudaStream_t stream);

namespace twin {
void embed(const std::uint16_t* table, const std::int32_t* ids, std::int32_t tokens, std::int32_t n, float* out);
void rms_norm(const float* x, const float* weight, float eps, std::int32_t rows, std::int32_t n, std::uint16_t* y);
void add_rms_norm(float* residual, const float* delta, const float* weight, float eps, std::int32_t rows,
                  std::int32_t n, std::uint16_t* y);
void add(float* residual, const float* delta, std::int64_t count);
void take_rows(const float* x, const std::int32_t* rows, std::int32_t count, std::int32_t n, float* out);
}  // namespace twin

}  // namespace afore::kernels
