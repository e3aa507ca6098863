#pragma once
// The names that device code uses, as CUDA has them. Those that round as IEEE says do so here too; fast approximations
// (__expf and their kind) are left out, since they differ between devices.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/shim/block.h"
#include "kernels/shim/shared_memory.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __constant__ static
#define __shared__ AFORE_SHIM_SHARED

extern uint3 threadIdx, blockIdx;  // of the thread that runs
extern dim3 blockDim, gridDim;
inline constexpr int warpSize = 32;

// --- barriers and exchanges; nothing is cached, so the fences have nothing to do

inline void __syncthreads(const afore::shim::Site& site = afore::shim::Site::current()) {
  afore::shim::block_barrier(site);
}
inline void __syncwarp(std::uint32_t mask = 0xffffffffu, const afore::shim::Site& site = afore::shim::Site::current()) {
  afore::shim::meet(
      mask, nullptr, [](afore::shim::Lanes&) {}, site);
}
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}

#include "kernels/shim/warp.h"

// --- atomics: threads run one at a time

template <class T>
T atomicExch(T* address, std::type_identity_t<T> value) {
  const T old = *address;
  *address = value;
  return old;
}
template <class T>
T atomicCAS(T* address, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  const T old = *address;
  if (old == expected) *address = value;
  return old;
}
template <class T>
T atomicAdd(T* address, std::type_identity_t<T> value) {
  return atomicExch(address, static_cast<T>(*address + value));
}
template <class T>
T atomicMax(T* address, std::type_identity_t<T> value) {
  return atomicExch(address, std::max(*address, value));
}
template <class T>
T atomicMin(T* address, std::type_identity_t<T> value) {
  return atomicExch(address, std::min(*address, value));
}
template <class T>
T atomicOr(T* address, std::type_identity_t<T> value) {
  return atomicExch(address, static_cast<T>(*address | value));
}

// --- integers and bits

inline int __popc(unsigned x) { return std::popcount(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
template <class T>
T __ldg(const T* address) {
  return *address;
}
using std::max;
using std::min;

// --- float32

inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fmaf_rn(float a, float b, float c) { return std::fmaf(a, b, c); }
inline float __fsqrt_rn(float x) { return std::sqrt(x); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
