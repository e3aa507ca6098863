#include "fit/relative_fit.h"

#include <gtest/gtest.h>

#include <vector>

#include "util/rng.h"

namespace afore::fit {
namespace {

// time = 20,000 + 7,500 t + 9,000 a over a grid, times a factor per point.
template <class Factor>
std::vector<Point> plane(Factor&& factor) {
  std::vector<Point> points;
  for (int tiles = 1; tiles <= 40; tiles += 3)
    for (int experts = 1; experts <= std::min(tiles, 16); experts += 3) {
      const double time = 20'000 + 7'500.0 * tiles + 9'000.0 * experts;
      points.push_back({{1, double(tiles), double(experts), 0}, time * factor(points.size())});
    }
  return points;
}

void expect_plane(const Model& model, double tolerance) {
  EXPECT_NEAR(model.c[0], 20'000, 20'000 * tolerance);
  EXPECT_NEAR(model.c[1], 7'500, 7'500 * tolerance);
  EXPECT_NEAR(model.c[2], 9'000, 9'000 * tolerance);
  EXPECT_EQ(model.c[3], 0);
}

TEST(RelativeFit, RecoversExactCoefficients) {
  const Model model = fit_relative(plane([](std::size_t) { return 1.0; }), 3);
  expect_plane(model, 1e-9);
  EXPECT_EQ(model.floor_ns, 0);
}

TEST(RelativeFit, NoiseMovesThemLittle) {
  Rng rng(5);
  expect_plane(fit_relative(plane([&](std::size_t) { return 1 + 0.02 * rng.normal(); }), 3), 0.1);
}

// Every ninth row took three times as long. Least squares would give in; the sum of errors does not.
TEST(RelativeFit, OutliersDoNotBendThePlane) {
  expect_plane(fit_relative(plane([](std::size_t i) { return i % 9 == 4 ? 3.0 : 1.0; }), 3), 0.02);
}

// The best plane without a bound has a negative slope in the second column: it is held at 0, not reported as a gain.
TEST(RelativeFit, CoefficientsAreNotNegative) {
  std::vector<Point> points;
  for (int i = 1; i <= 10; ++i) points.push_back({{1, double(i), 0, 0}, 1'000.0 - 20 * i});
  const Model model = fit_relative(points, 2);
  EXPECT_EQ(model.c[1], 0);
  EXPECT_GT(model.c[0], 800);
  EXPECT_LT(model.c[0], 980);
}

// Columns that depend on each other: any split predicts the same, and none is infinite.
TEST(RelativeFit, DependentColumnsStillPredict) {
  std::vector<Point> points;
  for (int i = 1; i <= 10; ++i) points.push_back({{1, double(i), double(i), 0}, 100.0 + 30 * i});
  const Model model = fit_relative(points, 3);
  for (const Point& point : points) EXPECT_LT(relative_error(model, point), 1e-9);
}

TEST(RelativeFit, FloorIsFound) {
  std::vector<Point> points;
  for (int tiles = 1; tiles <= 60; ++tiles)
    points.push_back({{1, double(tiles), 0, 0}, std::max(390'000.0, 100'000.0 + 10'000 * tiles)});
  const Model model = fit_with_floor(points, 2);
  EXPECT_NEAR(model.floor_ns, 390'000, 1);
  EXPECT_NEAR(model.c[0], 100'000, 1'000);
  EXPECT_NEAR(model.c[1], 10'000, 100);
  EXPECT_EQ(model.predict({1, 1, 0, 0}), model.floor_ns);
}

TEST(RelativeFit, NoFloorWhereThereIsNone) {
  const std::vector<Point> points = plane([](std::size_t) { return 1.0; });
  const Model model = fit_with_floor(points, 3);
  for (const Point& point : points) EXPECT_LT(relative_error(model, point), 1e-9);
}

}  // namespace
}  // namespace afore::fit
