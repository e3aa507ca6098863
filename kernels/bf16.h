#pragma once
// bf16 as its 16 bits, on devices and hosts alike.
#include <cstdint>
#include <cstring>

#include "kernels/gpu.h"

namespace afore::kernels {

__host__ __device__ inline float float_of(std::uint16_t bf16) {
  const std::uint32_t bits = static_cast<std::uint32_t>(bf16) << 16;
  float value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

// To the nearest, ties to even; not a number stays one.
__host__ __device__ inline std::uint16_t bf16_of(float value) {
  std::uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>(bits >> 16 | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

}  // namespace afore::kernels
