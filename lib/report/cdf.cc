#include "report/cdf.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "report/markup.h"
#include "report/theme.h"

namespace afore::report {
namespace {

constexpr double kCdfLeft = 74, kPlotRight = 660, kCdfHeight = 170;
constexpr std::array<double, 3> kMarks = {0.5, 0.95, 0.99};
constexpr std::int64_t kPoints = 1000;
constexpr std::size_t kShownSeries = 9;  // rows of figures beside a panel

// Below 100 samples it is the maximum, a matter of luck (docs/metrics.md).
bool has_mark(const Distribution& d, double q) { return q < 0.99 || d.samples() >= 100; }

bool any_samples(const CdfPanel& panel) {
  return std::any_of(panel.series.begin(), panel.series.end(),
                     [](const CdfSeries& s) { return !s.distribution.empty(); });
}

// Calls see(ns, share) for the ends of the steps, thinned so that they, with the first and the last, are kPoints at
// most.
template <class See>
void walk(const Distribution& d, See&& see) {
  const std::int64_t n = d.samples(), grain = n <= kPoints ? 1 : (n + kPoints - 2) / (kPoints - 1);
  std::int64_t so_far = 0, told = 0;
  for (std::size_t i = 0; i < d.values().size(); ++i) {
    so_far += d.values()[i].second;
    if (so_far - told < grain && i + 1 < d.values().size() && i > 0) continue;
    told = so_far;
    see(d.values()[i].first, static_cast<double>(so_far) / static_cast<double>(n));
  }
}

std::string steps(const Distribution& d, const Scale& x, const Scale& y, double unit) {
  std::string path;
  walk(d, [&](std::int64_t ns, double share) {
    const double at =
        std::clamp(x.at(std::max(static_cast<double>(ns) / unit, x.logarithmic ? x.lo : 0)), x.from_px, x.to_px);
    if (path.empty()) path = fmt::format("M{} {}", coordinate(at), coordinate(y.from_px));
    fmt::format_to(std::back_inserter(path), "H{}V{}", coordinate(at), coordinate(y.at(share)));
  });
  return path + "H" + coordinate(x.to_px);
}

struct Extent {
  double least = 0, most = 1;  // ns
  bool logarithmic = false;
};

// In ns, unless it is so far beyond the longest sample that the curves would be squeezed into a corner.
std::optional<double> near_limit(const CdfPanel& panel, double most) {
  if (!panel.limit_ms || *panel.limit_ms * 1e6 > 2.5 * most) return std::nullopt;
  return *panel.limit_ms * 1e6;
}

Extent extent_of(const CdfPanel& panel) {
  Extent extent;
  double least = 0, most = 0;
  for (const CdfSeries& series : panel.series) {
    if (series.distribution.empty()) continue;
    const auto& values = series.distribution.values();
    const auto first = static_cast<double>(values.front().first);
    least = most == 0 ? first : std::min(least, first);
    most = std::max(most, static_cast<double>(values.back().first));
    const auto median = static_cast<double>(series.distribution.percentile(0.5));
    if (first > 0 && static_cast<double>(series.distribution.percentile(0.99)) > 20 * median) extent.logarithmic = true;
  }
  if (least <= 0) extent.logarithmic = false;
  const bool far = !extent.logarithmic && least > 0.5 * most;  // from 0: the axis begins near the first sample
  const double margin = (most - least) * 0.08 + most * 0.002;
  const std::optional<double> limit = near_limit(panel, most);
  most = std::max(most, limit.value_or(0));
  extent.most = std::max(1.0, far ? most + margin : most * (extent.logarithmic ? 1.1 : 1.03));
  extent.least = extent.logarithmic ? least * 0.9 : far ? least - margin : 0;
  if (limit) extent.least = std::min(extent.least, *limit * 0.98);
  extent.least = std::max(extent.least, extent.logarithmic ? 1.0 : 0.0);
  return extent;
}

struct Plot {
  Scale x, y;
  Unit unit;
};

Plot draw_axes(Canvas& canvas, const CdfPanel& panel, double top) {
  const Extent extent = extent_of(panel);
  const Unit unit = time_unit(extent.logarithmic ? std::sqrt(extent.least * extent.most) : extent.most);
  const Scale x{extent.least / unit.size, extent.most / unit.size, kCdfLeft, kPlotRight, extent.logarithmic};
  const Scale y{0, 1, top + kCdfHeight, top, false};
  draw_y_axis(canvas, x, y, {{0, 0.25, 0.5, 0.75, 1}, 2}, "share of samples");
  draw_x_axis(canvas, x, y, extent.logarithmic ? log_ticks(x.lo, x.hi, 8) : linear_ticks(x.lo, x.hi, 7),
              fmt::format("{} [{}]{}", panel.metric, unit.name, extent.logarithmic ? ", logarithmic" : ""));
  for (const double q : kMarks)
    if (q > 0.5) canvas.line(x.from_px, y.at(q), x.to_px, y.at(q), "dots axis");
  return {x, y, unit};
}

void draw_curves(Canvas& canvas, const CdfPanel& panel, const Plot& plot) {
  for (std::size_t s = 0; s < panel.series.size(); ++s) {
    const Distribution& d = panel.series[s].distribution;
    if (d.empty()) continue;
    canvas.path(steps(d, plot.x, plot.y, plot.unit.size), "line " + series_class('k', s),
                s < 8 ? "" : "stroke-dasharray=\"6 3\"");
    for (const double q : kMarks)
      if (has_mark(d, q))
        canvas.dot(plot.x.at(static_cast<double>(d.percentile(q)) / plot.unit.size), plot.y.at(q), 3,
                   series_class('f', s));
  }
}

// What the curves say, in numbers: no label has to find room in the plot.
void draw_numbers(Canvas& canvas, const CdfPanel& panel, const Unit& unit, double top, bool limit_shows) {
  constexpr double kName = kPlotRight + 24;
  constexpr std::array<double, 3> kColumns = {kPictureWidth - 122, kPictureWidth - 68, kPictureWidth - 14};
  canvas.text(kName, top + 4, unit.name, Anchor::start, "soft small");
  constexpr std::array<const char*, 3> kHeads = {"p50", "p95", "p99"};
  for (std::size_t i = 0; i < kMarks.size(); ++i)
    canvas.text(kColumns[i], top + 4, kHeads[i], Anchor::end, "soft small");
  double y = top + 22;
  std::size_t rows = 0;
  for (std::size_t s = 0; s < panel.series.size(); ++s) {
    const Distribution& d = panel.series[s].distribution;
    if (d.empty()) continue;
    if (++rows > kShownSeries) {
      canvas.text(kName, y, "more in the table", Anchor::start, "soft small");
      break;
    }
    canvas.line(kName, y - 4, kName + 12, y - 4, "line " + series_class('k', s));
    canvas.text(kName + 17, y, panel.series[s].name.empty() ? panel.metric : shorten(panel.series[s].name, 14));
    for (std::size_t i = 0; i < kMarks.size(); ++i)
      canvas.text(kColumns[i], y,
                  has_mark(d, kMarks[i]) ? brief(static_cast<double>(d.percentile(kMarks[i])) / unit.size) : "-",
                  Anchor::end);
    y += 17;
  }
  if (panel.limit_ms) {
    canvas.line(kName, y - 4, kName + 12, y - 4, "mark");
    canvas.text(kName + 17, y,
                fmt::format("limit {} ms{}", brief(*panel.limit_ms), limit_shows ? "" : ": far beyond all"));
  }
}

void draw_panel(Canvas& canvas, const CdfPanel& panel, double top) {
  canvas.text(12, top - 12, fmt::format("{}: {}", panel.metric, panel.meaning), Anchor::start, "bold");
  const Plot plot = draw_axes(canvas, panel, top);
  draw_curves(canvas, panel, plot);
  const bool limit_shows = panel.limit_ms && *panel.limit_ms * 1e6 / plot.unit.size <= plot.x.hi;
  if (limit_shows) {
    const double at = plot.x.at(*panel.limit_ms * 1e6 / plot.unit.size);
    canvas.line(at, plot.y.to_px, at, plot.y.from_px, "mark");
  }
  draw_numbers(canvas, panel, plot.unit, top, limit_shows);
}

}  // namespace

void Distribution::sort() {
  std::sort(values_.begin(), values_.end());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (kept > 0 && values_[kept - 1].first == values_[i].first) values_[kept - 1].second += values_[i].second;
    else values_[kept++] = values_[i];
  }
  values_.resize(kept);
}

std::int64_t Distribution::samples() const {
  std::int64_t n = 0;
  for (const auto& [ns, samples] : values_) n += samples;
  return n;
}

std::int64_t Distribution::percentile(double q) const {
  auto left = static_cast<std::int64_t>(std::ceil(q * static_cast<double>(samples()) - 1e-6));
  for (const auto& [ns, samples] : values_)
    if ((left -= samples) <= 0) return ns;
  return values_.back().first;
}

Canvas cdfs(const std::vector<CdfPanel>& panels, const std::string& subtitle) {
  std::string absent;
  for (const CdfPanel& panel : panels)
    if (!any_samples(panel)) absent += (absent.empty() ? "; no samples of " : ", ") + panel.metric;
  Canvas canvas(kPictureWidth, "Latencies", subtitle + absent);
  double top = canvas.top() + 30;
  for (const CdfPanel& panel : panels) {
    if (!any_samples(panel)) continue;
    draw_panel(canvas, panel, top);
    top += kCdfHeight + 70;
  }
  canvas.end_at(top - 26);
  return canvas;
}

Table cdf_data(const std::vector<CdfPanel>& panels) {
  Table table({{"metric", Align::left}, {"series", Align::left}, {"ms"}, {"share"}});
  for (const CdfPanel& panel : panels)
    for (const CdfSeries& series : panel.series)
      if (!series.distribution.empty())
        walk(series.distribution, [&](std::int64_t ns, double share) {
          table.add_row({panel.metric, series.name, fmt::format("{:.6f}", static_cast<double>(ns) / 1e6),
                         fmt::format("{:.6f}", share)});
        });
  return table;
}

Table cdf_figures(const std::vector<CdfPanel>& panels) {
  Table table({{"", Align::left}, {"samples"}, {"p50 ms"}, {"p95 ms"}, {"p99 ms"}, {"max ms"}});
  for (const CdfPanel& panel : panels)
    for (const CdfSeries& series : panel.series) {
      const Distribution& d = series.distribution;
      if (d.empty()) continue;
      const auto ms = [&](double q) { return brief(static_cast<double>(d.percentile(q)) / 1e6); };
      table.add_row({series.name.empty() ? panel.metric : panel.metric + " " + series.name, grouped(d.samples()),
                     ms(0.5), ms(0.95), has_mark(d, 0.99) ? ms(0.99) : "-", ms(1)});
    }
  return table;
}

}  // namespace afore::report
