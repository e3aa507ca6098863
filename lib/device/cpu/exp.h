#pragma once
// e^x in float32 the same way in every instruction set: x = n log 2 + r with |r| <= log(2)/2, Taylor's series of e^r up
// to r^7 (the next term is below 6e-9), times 2^n. Within 2 units in the last place; 0 below kExpLowest, and above
// kExpHighest what it is there, as silu and softmax need no more.
#include <cstdint>

namespace afore::device::cpu {

inline constexpr float kExpLowest = -87.33654f;  // log of the least normal number
inline constexpr float kExpHighest = 88.3f;      // 2^n stays finite
inline constexpr float kInverseLn2 = 1.44269504f;
inline constexpr float kLn2High = 0.693359375f;  // 355/512: n * kLn2High is exact
inline constexpr float kLn2Low = -2.12194440e-4f;
// 1/7!, 1/6!, … 1/2!; then e^r = 1 + r + r^2 * the rest.
inline constexpr float kExpTerms[] = {1.0f / 5040, 1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f};
// 1.5 * 2^23: x + kRounder is, for |x| < 2^22, x rounded in the low bits, and less kRounder x rounded.
inline constexpr float kRounder = 12582912.0f;

// Four at once, by instructions that nearly every processor has.
using Four = float __attribute__((vector_size(16)));
using FourBits = std::uint32_t __attribute__((vector_size(16)));

inline Four exp_f32(Four x) {
  const Four most = {kExpHighest, kExpHighest, kExpHighest, kExpHighest};
  const FourBits above = (FourBits)(x > most);  // not of a NaN, which stays one
  const Four bounded = (Four)((above & (FourBits)most) | (~above & (FourBits)x));
  const Four rounded = bounded * kInverseLn2 + kRounder;
  const Four n = rounded - kRounder;
  const Four r = (bounded - n * kLn2High) - n * kLn2Low;
  Four sum = r * kExpTerms[0] + kExpTerms[1];
  for (int i = 2; i < 6; ++i) sum = sum * r + kExpTerms[i];
  const Four power = (Four)(((FourBits)rounded + 127) << 23);
  const Four e = (1.0f + (r + r * r * sum)) * power;
  return (Four)((FourBits)e & ~(FourBits)(x < kExpLowest));
}
inline float exp_f32(float x) { return exp_f32(Four{x, x, x, x})[0]; }

}  // namespace afore::device::cpu
