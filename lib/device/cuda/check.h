#pragma once
// CUDA's codes as Error{io} that says what was being done.
#include <string>

#include "kernels/gpu.h"

namespace afore::device::cuda {

// `hint`: what helps when memory is short.
void check(cudaError_t code, const char* what, const char* hint = "");
// Of the launches and copies since the last check.
inline void check_launches(const char* what) { check(cudaGetLastError(), what); }

std::string describe(cudaError_t code);  // "out of memory (cudaErrorMemoryAllocation)"

}  // namespace afore::device::cuda
