#include "report/heatmap.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "report/sums.h"
#include "report/theme.h"

namespace afore::report {
namespace {

constexpr double kMapLeft = 62, kMapRight = 16;
constexpr int kMostColumns = 1024, kMostRows = 256, kShownExperts = 3;

// Lower ends of the colour steps, in times the even share.
constexpr std::array<double, 24> kFactors = {0,  0.25, 0.5, 0.75, 1,  1.5, 2,   3,   4,   6,   8,   12,
                                             16, 24,   32,  48,   64, 96,  128, 192, 256, 384, 512, 1024};

int step_of(double load) {
  return static_cast<int>(std::upper_bound(kFactors.begin(), kFactors.end(), load) - kFactors.begin()) - 1;
}

double mean_of(const std::vector<std::int64_t>& counts) {
  return counts.empty() ? 0 : sum_of(counts) / static_cast<double>(counts.size());
}

// Steps by row and column, -1 where there was nothing at all.
struct Grid {
  int rows = 0, columns = 0, experts = 0, last_step = 4;  // up to 1.5 times even always
  double hottest = 0;
  std::vector<int> row_layers;
  std::vector<int> steps;
};

Grid make_grid(const ExpertLoads& loads) {
  Grid grid;
  for (const auto& [layer, counts] : loads.layers)
    grid.experts = std::max(grid.experts, static_cast<int>(counts.size()));
  grid.experts = std::max(1, grid.experts);
  grid.columns = std::min(grid.experts, kMostColumns);
  const auto layers = static_cast<int>(loads.layers.size());
  grid.rows = std::min(layers, kMostRows);
  std::vector<double> hottest(static_cast<std::size_t>(grid.rows) * grid.columns, 0);
  int index = 0, shown = -1;
  for (const auto& [layer, counts] : loads.layers) {
    const int row = static_cast<int>(static_cast<std::int64_t>(index++) * grid.rows / layers);
    if (row != shown) grid.row_layers.push_back(layer);
    shown = row;
    const double mean = mean_of(counts);
    for (std::size_t e = 0; e < counts.size() && mean > 0; ++e) {
      const std::size_t column = e * grid.columns / grid.experts;
      double& cell = hottest[static_cast<std::size_t>(row) * grid.columns + column];
      cell = std::max(cell, static_cast<double>(counts[e]) / mean);
      grid.hottest = std::max(grid.hottest, cell);
    }
  }
  for (const double load : hottest) {
    grid.steps.push_back(load == 0 ? -1 : step_of(load));
    grid.last_step = std::max(grid.last_step, grid.steps.back());
  }
  return grid;
}

// All cells of one colour as horizontal strokes one unit wide, neighbours joined.
std::string runs(const Grid& grid, int step) {
  std::string path;
  for (int row = 0; row < grid.rows; ++row) {
    const int* cells = grid.steps.data() + static_cast<std::ptrdiff_t>(row) * grid.columns;
    for (int begin = 0; begin < grid.columns;) {
      int end = begin;
      while (end < grid.columns && cells[end] == step) ++end;
      if (end > begin) fmt::format_to(std::back_inserter(path), "M{} {}h{}", begin, row, end - begin);
      begin = std::max(end, begin + 1);
    }
  }
  return path;
}

void draw_cells(Canvas& canvas, const Grid& grid, double x, double y, double width, double height) {
  canvas.rect(x, y, width, height, "void");
  canvas.open(fmt::format("transform=\"translate({} {})scale({:.6g} {:.6g})translate(0 .5)\"", x, y,
                          width / grid.columns, height / grid.rows));
  for (int step = 0; step <= grid.last_step; ++step) {
    const std::string path = runs(grid, step);
    if (!path.empty()) canvas.path(path, "cells", fmt::format("stroke=\"{}\"", cividis(1.0 * step / grid.last_step)));
  }
  canvas.close();
}

std::string factor_text(double factor) {
  return factor < 1 ? fmt::format("{:g}", factor) : fmt::format("{:.4g}", factor);
}

// The steps in a row, the edges between them named.
void draw_ramp(Canvas& canvas, const Grid& grid, double y) {
  canvas.text(kMapLeft, y, "times the layer's mean (1 = even):", Anchor::start, "soft");
  double x = kMapLeft + 218;
  canvas.rect(x, y - 11, 14, 14, "void");
  canvas.text(x + 19, y, "unused", Anchor::start, "soft small");
  x += 72;
  const double each = std::min(36.0, (kPictureWidth - kMapRight - 14 - x) / (grid.last_step + 1));
  for (int step = 0; step <= grid.last_step; ++step) {
    canvas.path(fmt::format("M{:.1f} {:.1f}h{:.1f}", x + step * each, y - 4, each), "",
                fmt::format("stroke=\"{}\" stroke-width=\"14\"", cividis(1.0 * step / grid.last_step)));
    canvas.text(x + step * each, y + 16, factor_text(kFactors[step]), Anchor::middle, "soft small");
  }
}

std::vector<int> hottest(const std::vector<std::int64_t>& counts) {
  std::vector<int> order(counts.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return counts[a] > counts[b]; });
  order.resize(std::min<std::size_t>(order.size(), kShownExperts));
  return order;
}

}  // namespace

Canvas heatmap(const ExpertLoads& loads, const std::string& subtitle) {
  const Grid grid = make_grid(loads);
  std::string note = fmt::format("{}; hottest {} times even", subtitle, brief(grid.hottest));
  if (grid.columns < grid.experts) note += fmt::format("; {} experts in {} groups", grid.experts, grid.columns);
  Canvas canvas(kPictureWidth, "Load of each expert, by layer", note);
  const double y = canvas.top() + 8, width = kPictureWidth - kMapLeft - kMapRight;
  const double row = std::clamp(420.0 / grid.rows, 2.0, 22.0), height = row * grid.rows;
  draw_cells(canvas, grid, kMapLeft, y, width, height);
  for (const int i : index_ticks(grid.rows, std::max(1, static_cast<int>(height / 14))))
    canvas.text(kMapLeft - 6, y + row * (i + 0.5) + 4, std::to_string(grid.row_layers[i]), Anchor::end, "soft small");
  canvas.upward_text(18, y + height / 2, "layer", "soft");
  for (const int e : index_ticks(grid.experts, 20))
    canvas.text(kMapLeft + width * (e + 0.5) / grid.experts, y + height + 15, std::to_string(e), Anchor::middle,
                "soft small");
  canvas.text(kMapLeft + width / 2, y + height + 32, "expert", Anchor::middle, "soft");
  draw_ramp(canvas, grid, y + height + 58);
  canvas.end_at(y + height + 86);
  return canvas;
}

Table heatmap_data(const ExpertLoads& loads) {
  Table table({{"layer"}, {"expert"}, {"assignments"}, {"times_mean"}});
  for (const auto& [layer, counts] : loads.layers) {
    const double mean = mean_of(counts);
    for (std::size_t e = 0; e < counts.size(); ++e)
      table.add_row({std::to_string(layer), std::to_string(e), std::to_string(counts[e]),
                     mean > 0 ? fmt::format("{:.4f}", static_cast<double>(counts[e]) / mean) : "0"});
  }
  return table;
}

Table heatmap_figures(const ExpertLoads& loads) {
  Table table({{"layer"}, {"assignments"}, {"max / mean"}, {"unused experts"}, {"hottest experts", Align::left}});
  for (const auto& [layer, counts] : loads.layers) {
    const double mean = mean_of(counts);
    std::string names;
    for (const int e : hottest(counts))
      names += fmt::format(
          "{}{} ({:.1f}%)", names.empty() ? "" : ", ", e,
          mean > 0 ? 100.0 * static_cast<double>(counts[e]) / mean / static_cast<double>(counts.size()) : 0.0);
    const auto most = counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
    table.add_row({std::to_string(layer), fixed(sum_of(counts), 0),
                   mean > 0 ? fmt::format("{:.2f}", static_cast<double>(most) / mean) : "-",
                   std::to_string(std::count(counts.begin(), counts.end(), 0)), names});
  }
  return table;
}

}  // namespace afore::report
