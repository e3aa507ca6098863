#include "fit/cost_fit.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "util/error.h"
#include "util/stats.h"

namespace afore::fit {
namespace {

FitQuality quality_of(const Model& model, const std::vector<Point>& points) {
  FitQuality quality;
  quality.points = std::ssize(points);
  double mean = 0, residuals = 0, variance = 0;
  for (const Point& point : points) mean += point.time_ns / static_cast<double>(points.size());
  std::vector<double> errors;
  for (const Point& point : points) {
    const double off = model.predict(point.columns) - point.time_ns;
    residuals += off * off;
    variance += (point.time_ns - mean) * (point.time_ns - mean);
    errors.push_back(relative_error(model, point));
  }
  quality.r2 = variance > 0 ? 1 - residuals / variance : 0;
  quality.p95_error = *quantile(errors, 0.95);
  quality.worst_error = errors.back();  // sorted by now
  return quality;
}

void name_held(FitQuality& quality, unsigned held, std::span<const char* const> names) {
  for (std::size_t j = 0; j < names.size(); ++j)
    if ((held >> j & 1) != 0) quality.held.emplace_back(names[j]);
}

}  // namespace

CopyFit fit_copies(std::span<const MeasuredCopy> copies) {
  AFORE_CHECK(copies.size() >= 2, "a line needs two sizes");
  std::vector<Point> points;
  for (const MeasuredCopy& copy : copies)
    points.push_back({{1, static_cast<double>(copy.size_bytes)}, std::max(copy.ns, 1.0)});
  unsigned held = 0;
  const Model model = fit_relative_squares(points, 2, held);
  if (!(model.c[1] > 0))
    throw Error(ErrorKind::answer_no, "the copy times do not grow with the size, so no rate can be fitted",
                "use larger sizes (-e), more iterations (-n), or a quieter machine");
  CopyFit fit{std::llround(model.c[0]), 1e9 / model.c[1], quality_of(model, points)};
  static constexpr const char* kNames[] = {"copy_latency_ns"};
  name_held(fit.quality, held, kNames);
  return fit;
}

FfnFit fit_ffn(std::span<const MeasuredFfn> runs) {
  AFORE_CHECK(runs.size() >= 3, "three coefficients need three points");
  std::vector<Point> points;
  for (const MeasuredFfn& run : runs)
    points.push_back({{1, static_cast<double>(run.tiles), static_cast<double>(run.activated)}, std::max(run.ns, 1.0)});
  unsigned held = 0;
  Model model = fit_relative_squares(points, 3, held);
  if (!(model.c[1] > 0) && !(model.c[2] > 0))
    throw Error(ErrorKind::answer_no,
                "the FFN times grow neither with tiles nor with experts, so nothing can be fitted",
                "use more --experts, more iterations (-n), or a quieter machine");
  FfnFit fit;
  fit.c0_ns = std::llround(model.c[0]);
  fit.c1_ns = std::max<Nanos>(1, std::llround(model.c[1]));
  fit.c2_ns = std::max<Nanos>(1, std::llround(model.c[2]));
  model.c = {static_cast<double>(fit.c0_ns), static_cast<double>(fit.c1_ns), static_cast<double>(fit.c2_ns)};
  fit.quality = quality_of(model, points);
  static constexpr const char* kNames[] = {"ffn_c0_ns", "ffn_c1_ns", "ffn_c2_ns"};
  name_held(fit.quality, held, kNames);
  return fit;
}

}  // namespace afore::fit
