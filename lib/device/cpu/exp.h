#pragma once
// e^x in float32 the same way in every instruction set: x = n log 2 + r with |r| <= log(2)/2, Taylor's series of e^r up
// to r^7 (the next term is below 6e-9), times 2^n. Within 2 units in the last place; 0 below kExpLowest, and above
// kExpHighest what it is there, as silu and softmax need no more.
#include <bit>
#include <cstdint>

namespace afore::device::cpu {

inline constexpr float kExpLowest = -87.33654f;  // log of the least normal number
inline constexpr float kExpHighest = 88.3f;      // 2^n stays finite
inline constexpr float kInverseLn2 = 1.44269504f;
inline constexpr float kLn2High = 0.693359375f;  // 355/512: n * kLn2High is exact
inline constexpr float kLn2Low = -2.12194440e-4f;
// 1/7!, 1/6!, … 1/2!; then e^r = 1 + r + r^2 * the rest.
inline constexpr float kExpTerms[] = {1.0f / 5040, 1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f};
inline constexpr float kRounder = 12582912.0f;  // 1.5 * 2^23: x + kRounder - kRounder is x rounded, for |x| < 2^22

inline float exp_f32(float x) {
  if (x < kExpLowest) return 0;
  if (x > kExpHighest) x = kExpHighest;
  const float n = (x * kInverseLn2 + kRounder) - kRounder;
  const float r = (x - n * kLn2High) - n * kLn2Low;
  float sum = kExpTerms[0];
  for (int i = 1; i < 6; ++i) sum = sum * r + kExpTerms[i];
  const float power = x == x ? std::bit_cast<float>((static_cast<std::int32_t>(n) + 127) << 23) : x;
  return (1.0f + (r + r * r * sum)) * power;
}

}  // namespace afore::device::cpu
