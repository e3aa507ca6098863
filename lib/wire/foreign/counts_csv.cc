#include "wire/foreign/counts_csv.h"

#include <fmt/format.h>

#include <algorithm>

#include "util/error.h"
#include "wire/csv.h"
#include "wire/json_tree.h"

namespace afore::wire {
namespace {

constexpr std::int64_t kMaxId = (1 << 16) - 1;

struct Cell {
  std::int64_t layer, expert, count;
  std::size_t row;
};

std::vector<Cell> cells_of(const CsvTable& table) {
  const std::size_t layer = table.column("layer_id"), expert = table.column("expert_id"), count = table.column("count");
  std::vector<Cell> cells;
  for (std::size_t row = 0; row < table.rows(); ++row)
    cells.push_back({table.integer(row, layer, 0, kMaxId), table.integer(row, expert, 0, kMaxId),
                     table.integer(row, count, 0, kMaxInteger), row});
  std::vector<Cell> sorted = cells;
  std::sort(sorted.begin(), sorted.end(), [](const Cell& a, const Cell& b) {
    return a.layer != b.layer ? a.layer < b.layer : a.expert != b.expert ? a.expert < b.expert : a.row < b.row;
  });
  for (std::size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i].layer == sorted[i - 1].layer && sorted[i].expert == sorted[i - 1].expert)
      table.fail(sorted[i].row, expert,
                 "the expert has a count in line " + std::to_string(table.line(sorted[i - 1].row)) + " already");
  return cells;
}

}  // namespace

CountsFile parse_counts_csv(std::vector<std::pair<std::string, std::vector<std::uint8_t>>> files,
                            std::int64_t experts) {
  std::vector<std::vector<Cell>> parts;
  std::int64_t rows = 0, largest = -1, read = 0;
  for (auto& [name, bytes] : files) {
    const CsvTable table(std::move(bytes), name);
    for (const Cell& cell : parts.emplace_back(cells_of(table))) {
      rows = std::max(rows, cell.layer + 1);
      largest = std::max(largest, cell.expert);
    }
    read += static_cast<std::int64_t>(parts.back().size());
    if (parts.back().empty()) throw Error(ErrorKind::data, name + ": there are no counts");
  }
  const std::string& first = files[0].first;
  if (experts > 0 && largest >= experts)
    throw Error(ErrorKind::data, fmt::format("{}: a count of expert {}, there are {}", first, largest, experts),
                "is --experts or --model the right one?");
  const std::int64_t cells = experts > 0 ? experts : largest + 1;
  if (rows * cells > kMaxTableCells) throw Error(ErrorKind::data, first + ": too many layers and experts");
  const auto ask = [&] {
    throw Error(ErrorKind::usage,
                first + ": not every layer has a count of every expert, so how many there are is open",
                "give --model PRESET or --experts N");
  };
  if (experts == 0 && read < rows * cells) ask();  // before a few lines take the memory of a large table
  CountsFile counts;
  counts.axis = LayerAxis::hidden;
  counts.steps = 1;
  counts.rows = rows;
  counts.cells = cells;
  counts.experts = cells;
  counts.counts.assign(static_cast<std::size_t>(rows * cells), 0);
  std::vector<std::uint8_t> said(counts.counts.size(), 0);
  for (std::size_t part = 0; part < parts.size(); ++part)
    for (const Cell& cell : parts[part]) {
      said[cell.layer * cells + cell.expert] = 1;
      std::int64_t& sum = counts.counts[cell.layer * cells + cell.expert];
      sum += cell.count;
      if (sum > kMaxInteger)
        throw Error(ErrorKind::data, files[part].first + ": the counts of an expert sum to more than 2^53");
    }
  if (experts == 0 && std::find(said.begin(), said.end(), 0) != said.end()) ask();
  return counts;
}

}  // namespace afore::wire
