#pragma once
// e^x as one sequence of fused multiply-adds: devices and hosts agree bit for bit. Taylor's series to r^7 of the
// remainder of x by log 2 (the next term is below 6e-9), within one unit in the last place. No product feeds a sum and
// the power of two is added to the exponent, so that no compiler can contract this, or what a caller adds to it.
#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/gpu.h"

namespace afore::kernels {

inline constexpr float kExpLowest = -87.0f;  // 0 below: results are normal numbers
inline constexpr float kExpHighest = 88.3f;  // above what it is there: results are finite

// Not a number stays one.
__host__ __device__ inline float exact_exp(float x) {
  if (!(x >= kExpLowest)) return x < kExpLowest ? 0.0f : x;
  if (x > kExpHighest) x = kExpHighest;
  constexpr float kRounder = 12582912.0f;                // 1.5 * 2^23: what is added to it is rounded, in its low bits
  const float rounded = fmaf(x, 1.44269504f, kRounder);  // 1 / log 2
  const float n = rounded - kRounder;
  float r = fmaf(-n, 0.693359375f, x);  // 355/512: exact
  r = fmaf(-n, -2.12194440e-4f, r);
  float e = fmaf(r, 1.0f / 5040, 1.0f / 720);
  e = fmaf(e, r, 1.0f / 120);
  e = fmaf(e, r, 1.0f / 24);
  e = fmaf(e, r, 1.0f / 6);
  e = fmaf(e, r, 0.5f);
  e = fmaf(e, r, 1.0f);
  e = fmaf(e, r, 1.0f);
  std::uint32_t power, bits;
  memcpy(&power, &rounded, sizeof(power));
  memcpy(&bits, &e, sizeof(bits));
  bits += power << 23;
  memcpy(&e, &bits, sizeof(e));
  return e;
}

}  // namespace afore::kernels
