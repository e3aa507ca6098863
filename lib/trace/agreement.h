#pragma once
// How well one row of numbers (b: measured, say) agrees with another (a: predicted), pair by pair. docs/metrics.md has
// the formulas. The spans of each call are equally long, and finite.
#include <cstdint>
#include <optional>
#include <span>

namespace afore::trace {

// 100 (b - a) / |a|; 0 where both are 0; nullopt where only a is.
std::optional<double> percent_difference(double a, double b);

struct Mape {
  std::optional<double> percent;  // nullopt without a pair that counts
  std::int64_t zeros = 0;         // pairs left out because a is 0, whatever b is
};
// Mean absolute percentage error: the mean of 100 |b - a| / |a| over the pairs whose a is not 0.
Mape mape(std::span<const double> a, std::span<const double> b);

// Of the sums, pairs whose a is 0 included: 100 (sum b - sum a) / |sum a|. nullopt where sum a is 0.
std::optional<double> bias(std::span<const double> a, std::span<const double> b);

// Pearson's correlation coefficient, in [-1, 1]. nullopt where a or b has less than two different values.
std::optional<double> pearson(std::span<const double> a, std::span<const double> b);

}  // namespace afore::trace
