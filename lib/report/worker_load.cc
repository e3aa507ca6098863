#include "report/worker_load.h"
#include "report/sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>

namespace afore::report {
namespace {

constexpr double kLoadLeft = 74, kLoadRight = 16, kLoadHeight = 240;
constexpr std::size_t kMostBars = 96;  // pairs of bars

std::int64_t largest(const std::vector<std::int64_t>& loads) {
  return loads.empty() ? 0 : *std::max_element(loads.begin(), loads.end());
}

void draw_bars(Canvas& canvas, const WorkerLoad& load, const Scale& x, const Scale& y, double scale) {
  const double each = (x.to_px - x.from_px) / static_cast<double>(load.before.size());
  const double gap = std::min(8.0, each * 0.25), bar = (each - gap) / (load.after.empty() ? 1 : 2);
  const auto draw = [&](std::size_t w, std::int64_t value, double at, const char* classes, const char* what) {
    const double top = y.at(static_cast<double>(value) / scale);
    canvas.rect(at, top, std::max(0.4, bar - 0.5), y.from_px - top, classes,
                fmt::format("F{} {}: {} {}", w, what, grouped(value), load.unit));
  };
  for (std::size_t w = 0; w < load.before.size(); ++w) {
    const double at = x.from_px + static_cast<double>(w) * each + gap / 2;
    draw(w, load.before[w], at, "f7", "initial placement");
    if (!load.after.empty()) draw(w, load.after[w], at + bar, "f0", "as planned");
  }
}

// Of more workers than there are pixels, the most loaded one of each.
std::string outline(const std::vector<std::int64_t>& loads, const Scale& x, const Scale& y, double scale, bool closed) {
  const std::size_t joined = loads.size() / 1000 + 1;
  std::string path = fmt::format("M{:.1f} {:.1f}", x.from_px, y.from_px);
  for (std::size_t w = 0; w < loads.size(); w += joined) {
    const std::size_t end = std::min(loads.size(), w + joined);
    const auto most = *std::max_element(loads.begin() + static_cast<std::ptrdiff_t>(w),
                                        loads.begin() + static_cast<std::ptrdiff_t>(end));
    fmt::format_to(std::back_inserter(path), "V{:.1f}H{:.1f}", y.at(static_cast<double>(most) / scale),
                   x.at(static_cast<double>(end)));
  }
  return path + fmt::format("V{:.1f}{}", y.from_px, closed ? "z" : "");
}

void draw_outlines(Canvas& canvas, const WorkerLoad& load, const Scale& x, const Scale& y, double scale) {
  canvas.path(outline(load.before, x, y, scale, true), load.after.empty() ? "f7" : "f7 area");
  if (load.after.empty()) return;
  canvas.path(outline(load.before, x, y, scale, false), "line k7");
  canvas.path(outline(load.after, x, y, scale, false), "line k0");
}

std::vector<Key> keys_of(const WorkerLoad& load) {
  const bool planned = !load.after.empty();
  std::vector<Key> keys = {{fmt::format("initial placement: max / mean {:.3f}", max_over_mean(load.before)), "f7"}};
  if (planned) keys.push_back({fmt::format("as planned: max / mean {:.3f}", max_over_mean(load.after)), "f0"});
  keys.push_back({"mean", "mark", true});
  return keys;
}

}  // namespace

double max_over_mean(const std::vector<std::int64_t>& loads) {
  const double sum = sum_of(loads);
  return sum == 0 ? 0 : static_cast<double>(largest(loads)) * static_cast<double>(loads.size()) / sum;
}

Canvas worker_load(const WorkerLoad& load, const std::string& subtitle) {
  Canvas canvas(kPictureWidth, "Load of each FFN worker", subtitle);
  const double below = draw_keys(canvas, kLoadLeft, canvas.top() + 18, kPictureWidth - kLoadRight, keys_of(load));
  const std::size_t workers = load.before.size();
  const double most = static_cast<double>(std::max<std::int64_t>({1, largest(load.before), largest(load.after)}));
  const double scale = most >= 2e6 ? 1e6 : most >= 2e4 ? 1e3 : 1;
  const char* const prefix = scale == 1e6 ? "million " : scale == 1e3 ? "thousand " : "";
  const Scale x{0, static_cast<double>(workers), kLoadLeft, kPictureWidth - kLoadRight, false};
  const Scale y{0, most / scale * 1.04, below + kLoadHeight, below, false};
  draw_y_axis(canvas, x, y, linear_ticks(0, y.hi, 7), prefix + load.unit);
  if (workers <= kMostBars) draw_bars(canvas, load, x, y, scale);
  else draw_outlines(canvas, load, x, y, scale);
  // Splits may turn one tile of an expert into more, so the means differ a little; the line is that of what was run.
  const double mean = sum_of(load.after.empty() ? load.before : load.after) / static_cast<double>(workers) / scale;
  canvas.line(x.from_px, y.at(mean), x.to_px, y.at(mean), "mark");
  canvas.line(x.from_px, y.from_px, x.to_px, y.from_px, "axis");
  for (const int w : index_ticks(static_cast<int>(workers), 17))
    canvas.text(x.at(w + 0.5), y.from_px + 16, fmt::format("F{}", w), Anchor::middle, "soft small");
  canvas.text((x.from_px + x.to_px) / 2, y.from_px + 33, "FFN worker", Anchor::middle, "soft");
  canvas.text(
      kLoadLeft, y.from_px + 56,
      load.after.empty()
          ? fmt::format("within single targets: max / mean {:.3f}", load.target_imbalance_before)
          : fmt::format("within single targets: max / mean {:.3f} initially, {:.3f} as planned (means over targets)",
                        load.target_imbalance_before, load.target_imbalance_after),
      Anchor::start, "soft");
  canvas.end_at(y.from_px + 70);
  return canvas;
}

Table worker_load_data(const WorkerLoad& load) {
  std::vector<Table::Column> columns = {{"worker", Align::left}, {load.unit + "_before"}};
  if (!load.after.empty()) columns.push_back({load.unit + "_planned"});
  Table table(columns);
  for (std::size_t w = 0; w < load.before.size(); ++w) {
    std::vector<std::string> row = {fmt::format("F{}", w), std::to_string(load.before[w])};
    if (!load.after.empty()) row.push_back(std::to_string(load.after[w]));
    table.add_row(row);
  }
  return table;
}

Table worker_load_figures(const WorkerLoad& load) {
  Table table({{"", Align::left}, {"least " + load.unit}, {"mean"}, {"most"}, {"max / mean"}, {"in single targets"}});
  const auto add = [&](const char* name, const std::vector<std::int64_t>& loads, double imbalance) {
    if (loads.empty()) return;
    table.add_row({name, grouped(*std::min_element(loads.begin(), loads.end())),
                   brief(sum_of(loads) / static_cast<double>(loads.size())), grouped(largest(loads)),
                   fmt::format("{:.3f}", max_over_mean(loads)), fmt::format("{:.3f}", imbalance)});
  };
  add("initial placement", load.before, load.target_imbalance_before);
  add("as planned", load.after, load.target_imbalance_after);
  return table;
}

}  // namespace afore::report
