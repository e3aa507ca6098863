#pragma once
// Rounding of weights to bf16.
#include <cstdint>

namespace afore::nn {

// Of the bits of a float32, to nearest, ties to even: half of the last kept place, less one where that place is even,
// and what carries, carries. A NaN could carry into another value: callers look for those first.
constexpr std::uint16_t round_to_bf16(std::uint32_t f32_bits) {
  return static_cast<std::uint16_t>((f32_bits + 0x7FFF + (f32_bits >> 16 & 1)) >> 16);
}

}  // namespace afore::nn
