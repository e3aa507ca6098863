#pragma once
// CUDA's vector types, as far as kernels use them.
#include <cstdint>

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

#define AFORE_SHIM_VECTOR2(T, name, bytes) \
  struct alignas(bytes) name {             \
    T x, y;                                \
  };                                       \
  constexpr name make_##name(T x, T y) { return {x, y}; }
#define AFORE_SHIM_VECTOR4(T, name, bytes) \
  struct alignas(bytes) name {             \
    T x, y, z, w;                          \
  };                                       \
  constexpr name make_##name(T x, T y, T z, T w) { return {x, y, z, w}; }

AFORE_SHIM_VECTOR2(float, float2, 8)
AFORE_SHIM_VECTOR2(int, int2, 8)
AFORE_SHIM_VECTOR2(unsigned, uint2, 8)
AFORE_SHIM_VECTOR2(unsigned short, ushort2, 4)
AFORE_SHIM_VECTOR4(float, float4, 16)
AFORE_SHIM_VECTOR4(int, int4, 16)
AFORE_SHIM_VECTOR4(unsigned, uint4, 16)
AFORE_SHIM_VECTOR4(unsigned short, ushort4, 8)
#undef AFORE_SHIM_VECTOR2
#undef AFORE_SHIM_VECTOR4

struct uint3 {
  unsigned x, y, z;
};
