#include "fit/relative_fit.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "util/error.h"
#include "util/stats.h"

namespace afore::fit {
namespace {

constexpr int kIterations = 40;
constexpr double kLeastError = 0.01;  // errors below 1 % weigh no more than this: keeps weights finite
constexpr int kFloors = 32;

struct Normal {
  std::array<Columns, kMaxColumns> a{};
  Columns b{};
};

Normal normal_equations(std::span<const Point> points, std::span<const double> weights) {
  Normal n;
  for (std::size_t i = 0; i < points.size(); ++i)
    for (std::size_t j = 0; j < kMaxColumns; ++j) {
      n.b[j] += weights[i] * points[i].columns[j] * points[i].time_ns;
      for (std::size_t k = 0; k < kMaxColumns; ++k)
        n.a[j][k] += weights[i] * points[i].columns[j] * points[i].columns[k];
    }
  return n;
}

// Cholesky on the columns of `mask`, each scaled to a diagonal of 1. False when they depend on each other.
bool solve(const Normal& n, unsigned mask, Columns& c) {
  std::array<Columns, kMaxColumns> l{};
  Columns scale{}, y{};
  for (std::size_t j = 0; j < kMaxColumns; ++j) {
    if ((mask >> j & 1) == 0) continue;
    if (!(n.a[j][j] > 0)) return false;
    scale[j] = 1 / std::sqrt(n.a[j][j]);
    for (std::size_t k = 0; k <= j; ++k) {
      if ((mask >> k & 1) == 0) continue;
      double sum = n.a[j][k] * scale[j] * scale[k];
      for (std::size_t m = 0; m < k; ++m) sum -= l[j][m] * l[k][m];
      if (k < j) l[j][k] = sum / l[k][k];
      else if (sum > 1e-12) l[j][j] = std::sqrt(sum);
      else return false;
    }
    double sum = n.b[j] * scale[j];
    for (std::size_t k = 0; k < j; ++k) sum -= l[j][k] * y[k];
    y[j] = sum / l[j][j];
  }
  c = {};
  for (std::size_t j = kMaxColumns; j-- > 0;) {
    if ((mask >> j & 1) == 0) continue;
    double sum = y[j];
    for (std::size_t k = j + 1; k < kMaxColumns; ++k) sum -= l[k][j] * c[k];
    c[j] = sum / l[j][j];
  }
  for (std::size_t j = 0; j < kMaxColumns; ++j) c[j] *= scale[j];
  return true;
}

double quadratic(const Normal& n, const Columns& c) {
  double value = 0;
  for (std::size_t j = 0; j < kMaxColumns; ++j) {
    value -= 2 * c[j] * n.b[j];
    for (std::size_t k = 0; k < kMaxColumns; ++k) value += c[j] * c[k] * n.a[j][k];
  }
  return value;
}

// The minimum under c >= 0 is the best of the unconstrained minima over sets of columns that turn out non-negative.
Columns non_negative_minimum(const Normal& n, std::size_t width) {
  Columns best{};
  double best_value = 0;
  for (unsigned mask = 1; mask < 1u << width; ++mask) {
    Columns c;
    if (!solve(n, mask, c) || *std::min_element(c.begin(), c.end()) < 0) continue;
    const double value = quadratic(n, c);
    if (value < best_value) best = c, best_value = value;
  }
  return best;
}

// Points below the floor say nothing about c, except where c alone is above them.
Model fit_above(std::span<const Point> points, std::size_t width, double floor_ns) {
  Model best;
  best.floor_ns = floor_ns;
  double best_sum = -1;
  std::vector<double> weights(points.size());
  Model model = best;
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double time = points[i].time_ns;
      const double error = iteration == 0 ? 1 : std::max(relative_error(model, points[i]), kLeastError);
      const bool hidden =
          floor_ns > 0 && (iteration == 0 ? time <= floor_ns * 1.05 : model.predict(points[i].columns) <= floor_ns);
      weights[i] = hidden ? 0 : 1 / (time * time * error);
    }
    model.c = non_negative_minimum(normal_equations(points, weights), width);
    const double sum = sum_of_errors(model, points);
    if (best_sum < 0 || sum < best_sum) best = model, best_sum = sum;
  }
  return best;
}

}  // namespace

double Model::predict(const Columns& columns) const {
  double sum = 0;
  for (std::size_t j = 0; j < kMaxColumns; ++j) sum += c[j] * columns[j];
  return std::max(sum, floor_ns);
}

double relative_error(const Model& model, const Point& point) {
  return std::abs(model.predict(point.columns) - point.time_ns) / point.time_ns;
}

double sum_of_errors(const Model& model, std::span<const Point> points) {
  double sum = 0;
  for (const Point& point : points) sum += relative_error(model, point);
  return sum;
}

Model fit_relative(std::span<const Point> points, std::size_t width) {
  AFORE_CHECK(width >= 1 && width <= kMaxColumns && points.size() >= width, "too few points for the columns");
  return fit_above(points, width, 0);
}

Model fit_relative_squares(std::span<const Point> points, std::size_t width, unsigned& held) {
  AFORE_CHECK(width >= 1 && width <= kMaxColumns && points.size() >= width, "too few points for the columns");
  std::vector<double> weights;
  for (const Point& point : points) weights.push_back(1 / (point.time_ns * point.time_ns));
  const Normal equations = normal_equations(points, weights);
  Model model;
  model.c = non_negative_minimum(equations, width);
  held = 0;
  Columns free;
  if (!solve(equations, (1u << width) - 1, free)) return model;
  for (std::size_t j = 0; j < width; ++j)
    if (free[j] < 0) held |= 1u << j;
  return model;
}

Model fit_with_floor(std::span<const Point> points, std::size_t width) {
  Model best = fit_relative(points, width);
  double best_sum = sum_of_errors(best, points);
  std::vector<double> times;
  for (const Point& point : points) times.push_back(point.time_ns);
  for (int i = 0; i < kFloors; ++i) {
    const double floor_ns = *quantile(times, 0.5 * (i + 1) / kFloors);
    const Model model = fit_above(points, width, floor_ns);
    const double sum = sum_of_errors(model, points);
    if (sum < best_sum) best = model, best_sum = sum;
  }
  return best;
}

}  // namespace afore::fit
