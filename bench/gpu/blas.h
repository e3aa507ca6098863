#pragma once
// cuBLAS as a baseline, where the program was built with it.
#include <cstdint>
#include <string>

#include "kernels/gpu.h"

namespace afore::bench::gpu {

// Why there is none; empty where there is.
std::string why_no_blas();
// y[r][n] = sum_k x[r][k] w[n][k], summed in float32. x: [rows][k], w: [n][k] bf16; y: float32 or bf16.
void blas_product(const std::uint16_t* x, const std::uint16_t* w, int rows, int n, int k, float* y);
void blas_product(const std::uint16_t* x, const std::uint16_t* w, int rows, int n, int k, std::uint16_t* y);

}  // namespace afore::bench::gpu
