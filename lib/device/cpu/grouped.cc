#include "device/cpu/grouped.h"

#include <algorithm>

#include "device/cpu/thread_pool.h"
#include "device/cpu/work_cuts.h"
#include "util/error.h"

namespace afore::device::cpu {
namespace {

enum Slot { kInputLines = 0, kInnerLines = 1, kGroups = 2, kPointers = 3 };

// A thread that gets less than this many lines of activations or weights is woken for too little.
constexpr std::int64_t kLinesPerPart = 4096;
constexpr std::int64_t kPartsPerThread = 4;
// Reading a panel once costs about as much as multiplying it with this many rows.
constexpr std::int64_t kRowsPerRead = 4;

// Rows that are multiplied with the same matrices.
struct Group {
  const std::byte* weights;
  const float* const* x;
  float* const* y;
  std::int64_t rows, rows_before;

  std::int64_t panel_cost() const { return rows == 0 ? 0 : rows + kRowsPerRead; }
};

// The groups of one call, and the memory in which their work is cut.
struct Groups {
  Groups(std::int64_t size, Scratch& scratch) : count(size) {
    const auto bytes = static_cast<std::size_t>(count + 1) * sizeof(WorkItem);
    std::byte* memory = scratch.get(kGroups, bytes + static_cast<std::size_t>(count) * sizeof(Group));
    items = reinterpret_cast<WorkItem*>(memory);
    group = reinterpret_cast<Group*>(memory + bytes);
  }
  void set(std::int64_t at, const std::byte* weights, std::span<const float* const> x, std::span<float* const> y) {
    AFORE_CHECK(x.size() == y.size(), "an expert's rows without a place for each result");
    group[at] = {weights, x.data(), y.data(), std::ssize(x), rows};
    rows += group[at].rows;
    panel_cost += group[at].panel_cost();
  }
  // Each panel of `panels` to each group.
  WorkCuts cut_panels(std::int64_t panels) const {
    WorkCuts cuts(items);
    for (std::int64_t g = 0; g < count; ++g)
      cuts.add(group[g].rows == 0 ? 0 : panels, std::max<std::int64_t>(1, group[g].panel_cost()));
    return cuts;
  }
  WorkCuts cut_tiles() const {
    WorkCuts cuts(items);
    for (std::int64_t g = 0; g < count; ++g) cuts.add(tiles_of(group[g].rows), 1);
    return cuts;
  }

  std::int64_t count, rows = 0, panel_cost = 0;
  WorkItem* items;
  Group* group;
};

// `lines`: what there is to do, in kLinesPerPart's unit.
template <class Do>
void share(ThreadPool* pool, const WorkCuts& cuts, std::int64_t lines, const Do& do_units) {
  const std::int64_t threads = pool == nullptr ? 1 : pool->threads();
  const std::int64_t parts =
      threads == 1 ? 1 : std::clamp<std::int64_t>(lines / kLinesPerPart, 1, threads * kPartsPerThread);
  if (parts == 1) {
    cuts.for_part(0, 1, do_units);
    return;
  }
  struct Job {  // one reference, which a std::function holds without allocating
    const WorkCuts& cuts;
    const Do& do_units;
    std::int64_t parts;
  } const job{cuts, do_units, parts};
  pool->run(parts, [&job](std::int64_t part, int) { job.cuts.for_part(part, job.parts, job.do_units); });
}

// The rows of all groups, k floats each, into lines. `Fill`: fill_lines.
template <class Fill>
std::byte* fill_all(const Groups& groups, std::int64_t k, Scratch& scratch, ThreadPool* pool, const Fill& fill) {
  const std::int64_t row_bytes = lines_of(k) * kLineBytes;
  std::byte* lines = scratch.get(kInputLines, static_cast<std::size_t>(groups.rows * row_bytes));
  share(pool, groups.cut_tiles(), groups.rows * lines_of(k),
        [&](std::int64_t g, std::int64_t first, std::int64_t last) {
          const Group& group = groups.group[g];
          const std::int64_t end = std::min(group.rows, last * kTileTokens);
          for (std::int64_t row = first * kTileTokens; row < end; row += kTileTokens)
            fill(group.x + row, static_cast<int>(std::min<std::int64_t>(kTileTokens, group.rows - row)),
                 lines + (group.rows_before + row) * row_bytes);
        });
  return lines;
}

}  // namespace

void Grouped::matmul(const float* x, std::int64_t x_stride, std::int64_t rows, const Packed& w, float* y,
                     std::int64_t y_stride, Scratch& scratch, ThreadPool* pool) const {
  if (rows == 0 || w.n == 0) return;
  const auto count = static_cast<std::size_t>(rows);
  std::byte* pointers = scratch.get(kPointers, 2 * count * sizeof(float*));
  auto** inputs = reinterpret_cast<const float**>(pointers);
  auto** outputs = reinterpret_cast<float**>(pointers + count * sizeof(float*));
  for (std::int64_t r = 0; r < rows; ++r) {
    inputs[r] = x + r * x_stride;
    outputs[r] = y + r * y_stride;
  }
  Groups groups(1, scratch);
  groups.set(0, w.data, std::span(inputs, count), std::span(outputs, count));
  const std::byte* lines = fill_all(groups, w.k, scratch, pool, [&](const float* const* from, int tile, std::byte* to) {
    fill_lines(from, tile, w.k, to);
  });
  share(pool, groups.cut_panels(panels_of(w)), panels_of(w) * lines_of(w.k) * groups.panel_cost,
        [&](std::int64_t, std::int64_t first, std::int64_t last) { multiply(lines, rows, w, first, last, outputs); });
}

void Grouped::expert_ffn(const ExpertShape& shape, std::span<const ExpertRows> experts, Scratch& scratch,
                         ThreadPool* pool) const {
  Groups groups(std::ssize(experts), scratch);
  for (std::size_t e = 0; e < experts.size(); ++e)
    groups.set(static_cast<std::int64_t>(e), experts[e].block, experts[e].x, experts[e].y);
  if (groups.rows == 0) return;
  const std::int64_t outer = lines_of(shape.hidden), inner = lines_of(shape.intermediate);
  const std::byte* lines =
      fill_all(groups, shape.hidden, scratch, pool,
               [&](const float* const* x, int tile, std::byte* to) { fill_lines(x, tile, shape.hidden, to); });
  std::byte* between = scratch.get(kInnerLines, static_cast<std::size_t>(groups.rows * inner * kLineBytes));
  share(pool, groups.cut_panels(inner), 2 * groups.panel_cost * inner * outer,
        [&](std::int64_t g, std::int64_t first, std::int64_t last) {
          const Group& group = groups.group[g];
          gate_up(lines + group.rows_before * outer * kLineBytes, group.rows, shape.gate(group.weights),
                  shape.up(group.weights), first, last, between + group.rows_before * inner * kLineBytes);
        });
  share(pool, groups.cut_panels(outer), groups.panel_cost * inner * outer,
        [&](std::int64_t g, std::int64_t first, std::int64_t last) {
          const Group& group = groups.group[g];
          multiply(between + group.rows_before * inner * kLineBytes, group.rows, shape.down(group.weights), first, last,
                   group.y);
        });
}

}  // namespace afore::device::cpu
