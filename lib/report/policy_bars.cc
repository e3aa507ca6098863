#include "report/policy_bars.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/markup.h"
#include "report/theme.h"

namespace afore::report {
namespace {

constexpr double kBarsLeft = 110, kBarsRight = 150, kBar = 13;
constexpr double kMostRatio = 4;  // bars beyond are cut, and say so in their number

std::optional<double> ratio(const PolicyMetric& metric, std::size_t policy) {
  const auto &base = metric.values.front(), &value = metric.values[policy];
  if (!base || *base == 0 || !value) return std::nullopt;
  return *value / *base;
}

std::string percent(double share) {
  const std::string text = fmt::format("{:+.1f}%", (share - 1) * 100);
  return text == "-0.0%" ? "+0.0%" : text;
}

double largest_ratio(const PolicyComparison& comparison) {
  double most = 1;
  for (const PolicyMetric& metric : comparison.metrics)
    for (std::size_t p = 0; p < metric.values.size(); ++p) most = std::max(most, ratio(metric, p).value_or(0));
  return std::min(most, kMostRatio);
}

void draw_bar(Canvas& canvas, const PolicyComparison& comparison, const PolicyMetric& metric, std::size_t p,
              const Scale& x, double y) {
  canvas.text(kBarsLeft - 6, y + 10, shorten(comparison.policies[p], 15), Anchor::end, "small");
  const auto share = ratio(metric, p);
  if (!share) {
    canvas.text(kBarsLeft + 6, y + 10, "-", Anchor::start, "soft small");
    return;
  }
  const double end = x.at(std::min(*share, kMostRatio));
  canvas.rect(kBarsLeft, y, end - kBarsLeft, kBar - 1, series_class('f', p));
  if (*share > kMostRatio) canvas.text(end - 4, y + 10, "▸", Anchor::end, "on small");
  const std::string value = fixed(*metric.values[p], metric.decimals);
  canvas.text(kPictureWidth - kBarsRight + 8, y + 10, p == 0 ? value : fmt::format("{} ({})", value, percent(*share)),
              Anchor::start, "small");
}

}  // namespace

Canvas policy_bars(const PolicyComparison& comparison, const std::string& subtitle) {
  Canvas canvas(kPictureWidth, fmt::format("Policies against {}", shorten(comparison.policies.front(), 20)), subtitle);
  const Scale x{0, largest_ratio(comparison) * 1.02, kBarsLeft, kPictureWidth - kBarsRight, false};
  double y = canvas.top() + 12;
  for (const PolicyMetric& metric : comparison.metrics) {
    if (!ratio(metric, 0)) continue;
    canvas.text(kBarsLeft, y + 10,
                fmt::format("{} ({} is better)", metric.name, metric.more_is_better ? "more" : "less"), Anchor::start,
                "bold");
    y += 17;
    for (std::size_t p = 0; p < comparison.policies.size(); ++p, y += kBar)
      draw_bar(canvas, comparison, metric, p, x, y);
    const double bars = kBar * static_cast<double>(comparison.policies.size());
    canvas.line(x.at(1), y - bars, x.at(1), y, "mark");
    canvas.line(kBarsLeft, y - bars, kBarsLeft, y, "axis");
    y += 12;
  }
  const Ticks ticks = linear_ticks(0, x.hi, 9);
  for (const double value : ticks.values)
    canvas.text(x.at(value), y + 16, fixed(value, ticks.decimals), Anchor::middle, "soft small");
  canvas.line(kBarsLeft, y, x.to_px, y, "axis");
  canvas.text((x.from_px + x.to_px) / 2, y + 33,
              fmt::format("times the value of {}", shorten(comparison.policies.front(), 20)), Anchor::middle, "soft");
  canvas.end_at(y + 46);
  return canvas;
}

Table policy_figures(const PolicyComparison& comparison) {
  std::vector<Table::Column> columns = {{"policy", Align::left}};
  for (const PolicyMetric& metric : comparison.metrics) columns.push_back({metric.name});
  Table table(columns);
  for (std::size_t p = 0; p < comparison.policies.size(); ++p) {
    std::vector<std::string> row = {comparison.policies[p]};
    for (const PolicyMetric& metric : comparison.metrics)
      row.push_back(metric.values[p] ? fixed(*metric.values[p], metric.decimals) : "-");
    table.add_row(row);
  }
  return table;
}

}  // namespace afore::report
