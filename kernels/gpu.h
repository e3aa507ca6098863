#pragma once
// CUDA, or its stand-in on the CPU. A kernel is one source: nvcc builds it for devices, and a host compiler builds it
// against kernels/shim, where a CUDA thread is a fiber. Sources of kernels and the code that drives them use the names
// of the CUDA runtime API either way; AFORE_WITH_CUDART says that a host compiler builds against the real one.
//
// Three things go through macros, since the language has no common form for them: AFORE_LAUNCH, AFORE_DYNAMIC_SHARED
// and (primitives.h) what only PTX can say.
#if defined(__CUDACC__) || defined(AFORE_WITH_CUDART)
#include <cuda_runtime.h>
#else
#include "kernels/shim/cuda.h"
#endif

#if defined(__CUDACC__)
#define AFORE_LAUNCH(kernel, grid, block, dynamic_bytes, stream, ...) \
  kernel<<<(grid), (block), (dynamic_bytes), (stream)>>>(__VA_ARGS__)
// `name` points to the launch's dynamic shared memory, aligned to 16 bytes.
#define AFORE_DYNAMIC_SHARED(T, name)                               \
  extern __shared__ __align__(16) unsigned char afore_shared_raw[]; \
  T* const name = reinterpret_cast<T*>(afore_shared_raw)
#elif !defined(AFORE_WITH_CUDART)
#define AFORE_LAUNCH(kernel, grid, block, dynamic_bytes, stream, ...) \
  ::afore::shim::launch((stream), (grid), (block), (dynamic_bytes), (kernel)__VA_OPT__(, ) __VA_ARGS__)
#define AFORE_DYNAMIC_SHARED(T, name) T* const name = reinterpret_cast<T*>(::afore::shim::dynamic_shared())
#endif
