#include "trace/agreement.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "util/error.h"

namespace afore::trace {
namespace {

double sum(std::span<const double> values) { return std::accumulate(values.begin(), values.end(), 0.0); }

// Asked of the values, as rounding of their mean leaves equal ones a deviation.
bool all_equal(std::span<const double> values) {
  return std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
}

}  // namespace

std::optional<double> percent_difference(double a, double b) {
  if (a == 0) return b == 0 ? std::optional<double>(0) : std::nullopt;
  return 100 * (b - a) / std::abs(a);
}

Mape mape(std::span<const double> a, std::span<const double> b) {
  AFORE_CHECK(a.size() == b.size(), "pairs");
  Mape result;
  double total = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == 0) ++result.zeros;
    else total += 100 * std::abs(b[i] - a[i]) / std::abs(a[i]);
  }
  const std::int64_t counted = std::ssize(a) - result.zeros;
  if (counted > 0) result.percent = total / static_cast<double>(counted);
  return result;
}

std::optional<double> bias(std::span<const double> a, std::span<const double> b) {
  AFORE_CHECK(a.size() == b.size(), "pairs");
  const double total = sum(a);
  if (total == 0) return std::nullopt;
  return 100 * (sum(b) - total) / std::abs(total);
}

std::optional<double> pearson(std::span<const double> a, std::span<const double> b) {
  AFORE_CHECK(a.size() == b.size(), "pairs");
  if (all_equal(a) || all_equal(b)) return std::nullopt;
  // Counted from the first value, so that sums of times far above their differences lose nothing.
  const double n = static_cast<double>(a.size()), from_a = a[0], from_b = b[0];
  double mean_a = 0, mean_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    mean_a += (a[i] - from_a) / n;
    mean_b += (b[i] - from_b) / n;
  }
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double da = a[i] - from_a - mean_a, db = b[i] - from_b - mean_b;
    ab += da * db;
    aa += da * da;
    bb += db * db;
  }
  return std::clamp(ab / (std::sqrt(aa) * std::sqrt(bb)), -1.0, 1.0);
}

}  // namespace afore::trace
