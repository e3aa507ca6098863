#include "advice/shift.h"

#include <algorithm>
#include <cmath>

namespace afore::advice {
namespace {

double sum_of(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

// Half the sum of differences of shares; 0 where a side has no tokens to speak of.
double distance(std::span<const double> a, std::span<const double> b) {
  const double sum_a = sum_of(a), sum_b = sum_of(b);
  if (sum_a <= 0 || sum_b <= 0) return 0;
  double difference = 0;
  for (std::size_t e = 0; e < a.size(); ++e) difference += std::abs(a[e] / sum_a - b[e] / sum_b);
  return difference / 2;
}

std::vector<double> together(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> sum = a;
  for (std::size_t e = 0; e < sum.size(); ++e) sum[e] += b[e];
  return sum;
}

}  // namespace

void ShiftMeter::add(int half, int layer, std::span<const std::int64_t> counts) {
  Layer& at = layers_[layer];
  for (std::vector<double>& values : at.halves) values.resize(counts.size(), 0);
  for (std::size_t e = 0; e < counts.size(); ++e) at.halves[half][e] += static_cast<double>(counts[e]);
}

Shift ShiftMeter::measure() const {
  Shift shift;
  if (layers_.empty()) return shift;
  double in_history = 0, in_evaluation = 0;
  for (const auto& [index, layer] : layers_) {
    const auto& h = layer.halves;
    shift.between += distance(together(h[0], h[1]), together(h[2], h[3]));
    in_history += distance(h[0], h[1]);
    in_evaluation += distance(h[2], h[3]);
  }
  const double layers = static_cast<double>(layers_.size());
  shift.between /= layers;
  shift.within = std::max(in_history, in_evaluation) / layers;
  shift.shifted = shift.between > 2.5 * shift.within && shift.between > 0.05;
  return shift;
}

}  // namespace afore::advice
