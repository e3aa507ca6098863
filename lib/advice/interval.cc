#include "advice/interval.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "util/error.h"
#include "util/fmath.h"

namespace afore::advice {
namespace {

// P(|T| <= x) by Simpson's rule on the density, in the variable u = x / sqrt(degrees + x^2), where the integrand is
// (1 - u^2)^(degrees / 2 - 1): smooth for two and more degrees, and the range is finite.
double within(double x, int degrees) {
  const double half = degrees / 2.0;
  const double scale = 2 * fmath::exp(fmath::log_gamma(half + 0.5) - fmath::log_gamma(half) - fmath::log_gamma(0.5));
  const double end = x / std::sqrt(degrees + x * x);
  constexpr int kIntervals = 512;  // even
  double sum = 0;
  for (int i = 0; i <= kIntervals; ++i) {
    const double u = end * i / kIntervals;
    const double weight = i == 0 || i == kIntervals ? 1 : i % 2 == 1 ? 4 : 2;
    sum += weight * (degrees == 2 ? 1 : fmath::exp((half - 1) * fmath::log1p(-u * u)));
  }
  return scale * sum * end / (3 * kIntervals);
}

// Correlation of neighbours; 0 where nothing varies.
double lag_one(std::span<const double> values) {
  double square = 0, product = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    square += values[i] * values[i];
    if (i > 0) product += values[i] * values[i - 1];
  }
  return square > 0 ? product / square : 0;
}

}  // namespace

double student_t(int degrees, double confidence) {
  AFORE_CHECK(degrees >= 2 && confidence > 0 && confidence < 1, "Student's t is asked for what it does not have");
  double low = 0, high = 1;
  while (within(high, degrees) < confidence && high < 1e9) high *= 2;
  for (int i = 0; i < 64; ++i) {
    const double middle = (low + high) / 2;
    (within(middle, degrees) < confidence ? low : high) = middle;
  }
  return high;
}

Interval gain_interval(std::span<const double> base, std::span<const double> other, double confidence) {
  const std::size_t n = base.size();
  AFORE_CHECK(n >= 3 && other.size() == n, "an interval needs three pairs of blocks");
  double sum_base = 0, sum_other = 0;
  Interval result;
  result.blocks = static_cast<int>(n);
  for (std::size_t i = 0; i < n; ++i) {
    sum_base += base[i];
    sum_other += other[i];
    result.better += other[i] < base[i] ? 1 : 0;
  }
  AFORE_CHECK(sum_base > 0 && sum_other > 0, "blocks without time");
  const double ratio = sum_base / sum_other;
  std::vector<double> residuals(n);
  double square = 0;
  for (std::size_t i = 0; i < n; ++i) {
    residuals[i] = base[i] - ratio * other[i];
    square += residuals[i] * residuals[i];
  }
  const double count = static_cast<double>(n);
  double error = std::sqrt(square / (count * (count - 1))) / (sum_other / count);
  result.correlation = lag_one(residuals);
  const double r = std::clamp(result.correlation + (1 + 3 * result.correlation) / count, 0.0, 0.9);
  error *= std::sqrt((1 + r) / (1 - r));
  const int degrees = std::max(2, static_cast<int>(count * (1 - r) / (1 + r)) - 1);
  const double reach = error > 0 ? student_t(degrees, confidence) * error : 0;
  result.gain = ratio - 1;
  result.low = result.gain - reach;
  result.high = result.gain + reach;
  return result;
}

}  // namespace afore::advice
