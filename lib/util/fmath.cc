#include "util/fmath.h"

#include <bit>
#include <cmath>
#include <limits>

namespace afore::fmath {
namespace {

// log(2) in two parts; the high one ends in zero bits, so that k * kLn2High is exact for every exponent k.
constexpr double kLn2High = 6.93147180369123816490e-01;
constexpr double kLn2Low = 1.90821492927058770002e-10;
constexpr double kInverseLn2 = 1.44269504088896338700e+00;
constexpr double kSqrt2 = 1.41421356237309504880;
constexpr double kHalfLog2Pi = 9.18938533204672741780e-01;

// 2^k for a normal result.
double power_of_two(int k) { return std::bit_cast<double>(static_cast<std::uint64_t>(k + 1023) << 52); }

// x * 2^k, in two factors where 2^k alone would leave the normal range.
double scale(double x, int k) {
  if (k > 1023) return x * power_of_two(1023) * power_of_two(k - 1023);
  if (k < -1022) return x * power_of_two(k + 64) * power_of_two(-64);
  return x * power_of_two(k);
}

}  // namespace

double exp(double x) {
  if (std::isnan(x)) return x;
  if (x > 709.79) return std::numeric_limits<double>::infinity();
  if (x < -745.2) return 0;
  // x = k log 2 + r, |r| <= log(2)/2; `lost` is what rounding r dropped.
  const double k = std::floor(x * kInverseLn2 + 0.5);
  const double high = x - k * kLn2High;
  const double low = k * kLn2Low;
  const double r = high - low;
  const double lost = (high - r) - low;
  // Taylor: the first term left out is r^14 / 14! < 5e-18.
  double sum = 1.0 / 6227020800.0;
  sum = sum * r + 1.0 / 479001600.0;
  sum = sum * r + 1.0 / 39916800.0;
  sum = sum * r + 1.0 / 3628800.0;
  sum = sum * r + 1.0 / 362880.0;
  sum = sum * r + 1.0 / 40320.0;
  sum = sum * r + 1.0 / 5040.0;
  sum = sum * r + 1.0 / 720.0;
  sum = sum * r + 1.0 / 120.0;
  sum = sum * r + 1.0 / 24.0;
  sum = sum * r + 1.0 / 6.0;
  sum = sum * r + 0.5;
  return scale(1.0 + (r + (lost + r * r * sum)), static_cast<int>(k));
}

double log(double x) {
  if (std::isnan(x) || x < 0) return std::numeric_limits<double>::quiet_NaN();
  if (x == 0) return -std::numeric_limits<double>::infinity();
  if (std::isinf(x)) return x;
  int exponent = 0;
  if (x < std::numeric_limits<double>::min()) {
    x *= power_of_two(54);
    exponent = -54;
  }
  const auto bits = std::bit_cast<std::uint64_t>(x);
  exponent += static_cast<int>(bits >> 52) - 1023;
  // Mantissas above sqrt(2) are halved, without a branch: which it is, nobody could predict.
  const std::uint64_t mantissa_bits = (bits & 0x000f'ffff'ffff'ffffull) | 0x3ff0'0000'0000'0000ull;
  const std::uint64_t halved = mantissa_bits > std::bit_cast<std::uint64_t>(kSqrt2) ? 1 : 0;
  const double mantissa = std::bit_cast<double>(mantissa_bits - (halved << 52));
  exponent += static_cast<int>(halved);
  // log(1+f) = 2 atanh(s) = 2s + s*rest with s = f/(2+f), and 2s = f - s*f keeps the leading term exact.
  const double f = mantissa - 1.0;
  const double s = f / (2.0 + f);
  const double z = s * s;
  double rest = 2.0 / 23.0;
  for (int odd = 21; odd >= 3; odd -= 2) rest = rest * z + 2.0 / odd;
  rest *= z;
  const double k = exponent;
  return k * kLn2High + (f - (s * (f - rest) - k * kLn2Low));
}

double log1p(double x) {
  const double u = 1.0 + x;
  if (u == 1.0) return x;
  if (u <= 0 || std::isinf(u)) return log(u);
  return log(u) * (x / (u - 1.0));  // the factor undoes the rounding of 1 + x
}

double pow(double x, double y) { return exp(y * log(x)); }

double log_gamma(double x) {
  double below = 1.0;  // Gamma(x) = Gamma(x + n) / (x (x+1) … (x+n-1)); Stirling's series needs a large argument
  while (x < 10.0) {
    below *= x;
    x += 1.0;
  }
  const double inverse = 1.0 / x;
  const double z = inverse * inverse;
  double series = 1.0 / 156.0;
  series = series * z - 691.0 / 360360.0;
  series = series * z + 1.0 / 1188.0;
  series = series * z - 1.0 / 1680.0;
  series = series * z + 1.0 / 1260.0;
  series = series * z - 1.0 / 360.0;
  series = series * z + 1.0 / 12.0;
  const double large = (x - 0.5) * log(x) - x + kHalfLog2Pi + series * inverse;
  return below == 1.0 ? large : large - log(below);
}

double log_factorial(std::int64_t n) { return n < 2 ? 0.0 : log_gamma(static_cast<double>(n) + 1.0); }

}  // namespace afore::fmath
