#pragma once
// What only PTX can say, each behind one name with an emulation for the shim. Emulations are as asynchronous as the
// hardware: a copy arrives when it is waited for, not before.
#include <cstdint>

#include "kernels/gpu.h"

namespace afore::kernels {

#if defined(__CUDACC__)

// c += a b of one warp: a is 16 x 16 (row major fragments), b 16 x 8 (column major), bf16; c 16 x 8 float32.
__device__ __forceinline__ void mma_m16n8k16(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
// 16 bytes from global to shared memory, of which `bytes` (0 … 16) are read and the rest are zeros.
__device__ __forceinline__ void copy_async_16(void* shared, const void* global, std::uint32_t bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                   static_cast<std::uint32_t>(__cvta_generic_to_shared(shared))),
               "l"(global), "r"(bytes)
               : "memory");
}
// Copies since the last commit become a group.
__device__ __forceinline__ void copy_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Until at most kLeft of this thread's groups are under way.
template <int kLeft>
__device__ __forceinline__ void copy_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}
// Four 8 x 8 matrices of bf16 from shared memory; lane l names row l % 8 of matrix l / 8.
__device__ __forceinline__ void load_matrix_x4(std::uint32_t (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(row)))
               : "memory");
}

#else

void mma_m16n8k16(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]);
void copy_async_16(void* shared, const void* global, std::uint32_t bytes);
void copy_async_commit();
void copy_async_wait_left(int left);
template <int kLeft>
void copy_async_wait() {
  copy_async_wait_left(kLeft);
}
void load_matrix_x4(std::uint32_t (&r)[4], const void* row);

#endif

}  // namespace afore::kernels
