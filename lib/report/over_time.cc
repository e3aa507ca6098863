#include "report/over_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>

#include "report/theme.h"

namespace afore::report {
namespace {

constexpr double kTimeLeft = 74, kTimeRight = 16, kUpper = 170, kLower = 110;
constexpr std::int64_t kMostBuckets = 360;
constexpr std::size_t kUnplannedColor = 7;  // grey, as in the other pictures

struct Range {
  std::int64_t first = 0, last = 0;
  std::int64_t per_bucket() const { return (last - first) / kMostBuckets + 1; }
};

Range range_of(const OverTime& data) {
  std::optional<Range> range;
  for (const OverTimeSeries& series : data.series) {
    if (series.steps.empty()) continue;
    if (!range) range = {series.steps.front().step, series.steps.back().step};
    range->first = std::min(range->first, series.steps.front().step);
    range->last = std::max(range->last, series.steps.back().step);
  }
  return range.value_or(Range{});
}

struct Point {
  double begin, end;  // steps, the end one beyond
  double value;
};
using Value =
    std::function<std::optional<double>(const std::vector<StepSums>& steps, std::size_t begin, std::size_t end)>;

std::vector<Point> bucketed(const OverTimeSeries& series, const Range& range, const Value& value) {
  std::vector<Point> points;
  const std::int64_t each = range.per_bucket();
  for (std::size_t begin = 0, end = 0; begin < series.steps.size(); begin = end) {
    const std::int64_t bucket = (series.steps[begin].step - range.first) / each;
    while (end < series.steps.size() && (series.steps[end].step - range.first) / each == bucket) ++end;
    const auto from = static_cast<double>(range.first + bucket * each);
    if (const auto v = value(series.steps, begin, end)) points.push_back({from, from + static_cast<double>(each), *v});
  }
  return points;
}

std::optional<double> mean_imbalance(const std::vector<StepSums>& steps, std::size_t begin, std::size_t end) {
  double sum = 0;
  std::int64_t targets = 0;
  for (std::size_t i = begin; i < end; ++i) {
    sum += steps[i].imbalance;
    targets += steps[i].targets;
  }
  if (targets == 0) return std::nullopt;
  return sum / static_cast<double>(targets);
}

double copies_in(const std::vector<StepSums>& steps, std::size_t begin, std::size_t end) {
  double copies = 0;
  for (std::size_t i = begin; i < end; ++i) copies += static_cast<double>(steps[i].copies);
  return copies;
}

double most(const std::vector<std::vector<Point>>& lines, double otherwise) {
  double value = otherwise;
  for (const auto& line : lines)
    for (const Point& point : line) value = std::max(value, point.value);
  return value;
}

// Lines of one lane; the first colour is kept for what stood before there were plans.
void draw_lines(Canvas& canvas, const OverTime& data, const std::vector<std::vector<Point>>& lines, const Scale& x,
                const Scale& y, double unit, bool filled) {
  for (std::size_t s = 0; s < lines.size(); ++s) {
    if (lines[s].empty()) continue;
    std::string path;
    for (const Point& point : lines[s])
      fmt::format_to(std::back_inserter(path), "{}{:.1f} {:.1f}H{:.1f}", path.empty() ? "M" : "L", x.at(point.begin),
                     y.at(point.value / unit), x.at(point.end));
    const std::size_t color = data.series[s].planned ? s : kUnplannedColor;
    if (filled)
      canvas.path(fmt::format("{}V{:.1f}H{:.1f}z", path, y.from_px, x.at(lines[s].front().begin)),
                  "area " + series_class('f', color));
    canvas.path(path, "line " + series_class('k', color), s >= kSeriesColors ? "stroke-dasharray=\"6 3\"" : "");
  }
}

std::vector<Key> keys_of(const OverTime& data) {
  std::vector<Key> keys;
  for (std::size_t s = 0; s < data.series.size(); ++s)
    keys.push_back(
        {data.series[s].name, "line " + series_class('k', data.series[s].planned ? s : kUnplannedColor), true});
  return keys;
}

// Copies as bytes where their size is known.
double size_of_copy(const OverTime& data) { return data.expert_bytes > 0 ? static_cast<double>(data.expert_bytes) : 1; }

std::vector<std::vector<Point>> moved(const OverTime& data, const Range& range) {
  std::vector<std::vector<Point>> lines;
  for (const OverTimeSeries& series : data.series) {
    double total = 0;
    const Value value = [&](const auto& steps, std::size_t begin, std::size_t end) -> std::optional<double> {
      const double bytes = copies_in(steps, begin, end) * size_of_copy(data);
      total += bytes;
      return data.cumulative ? total : bytes / static_cast<double>(end - begin);
    };
    lines.push_back(series.planned ? bucketed(series, range, value) : std::vector<Point>{});
  }
  return lines;
}

double draw_upper(Canvas& canvas, const OverTime& data, const Range& range, Scale x, double top) {
  std::vector<std::vector<Point>> lines;
  for (const OverTimeSeries& series : data.series) lines.push_back(bucketed(series, range, mean_imbalance));
  const Scale y{1, 1 + (most(lines, 1.1) - 1) * 1.05, top + kUpper, top, false};
  draw_y_axis(canvas, x, y, linear_ticks(y.lo, y.hi, 6), fmt::format("max / mean {}", data.unit));
  draw_lines(canvas, data, lines, x, y, 1, false);
  canvas.line(x.from_px, y.from_px, x.to_px, y.from_px, "axis");
  return y.from_px;
}

double draw_lower(Canvas& canvas, const OverTime& data, const Range& range, Scale x, double top) {
  const auto lines = moved(data, range);
  const double largest = most(lines, 0);
  const Unit unit = data.expert_bytes > 0 ? byte_unit(largest) : Unit{1, "experts"};
  const Scale y{0, std::max(largest / unit.size, 1.0) * 1.05, top + kLower, top, false};
  const bool any = std::any_of(data.series.begin(), data.series.end(), [](const auto& s) { return s.planned; });
  if (any) {
    draw_y_axis(canvas, x, y, linear_ticks(0, y.hi, 4),
                fmt::format("moved [{}{}]", unit.name, data.cumulative ? "" : "/step"));
    draw_lines(canvas, data, lines, x, y, unit.size, true);
    if (largest == 0) canvas.text(x.from_px + 8, top + 16, "no copies", Anchor::start, "soft");
  } else {
    canvas.text(x.from_px + 8, top + 16, "no plans in this stream, so nothing was moved", Anchor::start, "soft");
  }
  return y.from_px;
}

}  // namespace

Canvas over_time(const OverTime& data, const std::string& subtitle) {
  const Range range = range_of(data);
  const std::int64_t each = range.per_bucket();
  Canvas canvas(kPictureWidth, "Imbalance and moved experts over time",
                each > 1 ? fmt::format("{}; means over {} steps", subtitle, each) : subtitle);
  const double top = draw_keys(canvas, kTimeLeft, canvas.top() + 18, kPictureWidth - kTimeRight, keys_of(data));
  const std::int64_t end = range.first + ((range.last - range.first) / each + 1) * each;  // of the last bucket
  const Scale x{static_cast<double>(range.first), static_cast<double>(end), kTimeLeft, kPictureWidth - kTimeRight,
                false};
  const double middle = draw_upper(canvas, data, range, x, top);
  const double bottom = draw_lower(canvas, data, range, x, middle + 22);
  Ticks ticks = linear_ticks(x.lo, x.hi, 11);
  if (ticks.decimals > 0) {
    ticks = {{}, 0};
    for (std::int64_t step = range.first; step <= range.last; ++step) ticks.values.push_back(static_cast<double>(step));
  }
  for (const double step : ticks.values)
    canvas.text(x.at(step), bottom + 16, fixed(step, 0), Anchor::middle, "soft small");
  canvas.line(x.from_px, bottom, x.to_px, bottom, "axis");
  canvas.text((x.from_px + x.to_px) / 2, bottom + 33, "step", Anchor::middle, "soft");
  canvas.end_at(bottom + 46);
  return canvas;
}

Table over_time_data(const OverTime& data) {
  Table table({{"series", Align::left}, {"step"}, {"max_over_mean"}, {"targets"}, {"copies"}, {"copied_bytes"}});
  for (const OverTimeSeries& series : data.series)
    for (const StepSums& step : series.steps)
      table.add_row(
          {series.name, std::to_string(step.step),
           step.targets > 0 ? fmt::format("{:.6f}", step.imbalance / static_cast<double>(step.targets)) : "-",
           std::to_string(step.targets), series.planned ? std::to_string(step.copies) : "-",
           series.planned && data.expert_bytes > 0
               ? fmt::format("{:.0f}", static_cast<double>(step.copies) * static_cast<double>(data.expert_bytes))
               : "-"});
  return table;
}

Table over_time_figures(const OverTime& data) {
  Table table({{"", Align::left}, {"steps"}, {"mean of max / mean"}, {"highest step"}, {"copies"}, {"moved GiB"}});
  for (const OverTimeSeries& series : data.series) {
    double highest = 0;
    for (std::size_t i = 0; i < series.steps.size(); ++i)
      highest = std::max(highest, mean_imbalance(series.steps, i, i + 1).value_or(0));
    const auto mean = mean_imbalance(series.steps, 0, series.steps.size());
    const double copies = copies_in(series.steps, 0, series.steps.size());
    table.add_row({series.name, grouped(static_cast<std::int64_t>(series.steps.size())),
                   mean ? fmt::format("{:.3f}", *mean) : "-", fmt::format("{:.3f}", highest),
                   series.planned ? fixed(copies, 0) : "-",
                   series.planned && data.expert_bytes > 0
                       ? fmt::format("{:.2f}", copies * size_of_copy(data) / 1073741824.0)
                       : "-"});
  }
  return table;
}

}  // namespace afore::report
