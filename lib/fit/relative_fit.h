#pragma once
// Non-negative linear models of a time, fitted to relative errors.
#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace afore::fit {

inline constexpr std::size_t kMaxColumns = 4;
using Columns = std::array<double, kMaxColumns>;  // unused ones are 0

struct Point {
  Columns columns{};
  double time_ns = 0;  // above 0
};

// time = max(floor_ns, Σ c_j · column_j).
struct Model {
  Columns c{};
  double floor_ns = 0;  // 0 = none
  double predict(const Columns& columns) const;
};

double relative_error(const Model& model, const Point& point);  // |predicted - measured| / measured
double sum_of_errors(const Model& model, std::span<const Point> points);

// Minimises the sum of relative errors over c >= 0 in the first `width` columns, by iteratively reweighted least
// squares (each step the exact non-negative solution, found among all sets of columns). Needs `width` points or more.
Model fit_relative(std::span<const Point> points, std::size_t width);

// Minimises the sum of squared relative errors over the same c. `held`: gets a bit for each column whose c is 0 though
// the unconstrained minimum would have it below 0.
Model fit_relative_squares(std::span<const Point> points, std::size_t width, unsigned& held);

// fit_relative with a floor: of 32 floors between 0 and the median time the one with the smallest sum.
Model fit_with_floor(std::span<const Point> points, std::size_t width);

}  // namespace afore::fit
