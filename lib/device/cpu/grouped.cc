#include "device/cpu/grouped.h"

#include <algorithm>

#include "device/cpu/thread_pool.h"
#include "device/cpu/work_cuts.h"

namespace afore::device::cpu {
namespace {

enum Slot { kInputLines = 0, kInnerLines = 1, kItems = 2, kPointers = 3 };

// A thread that gets less than this many lines of activations or weights is woken for too little.
constexpr std::int64_t kLinesPerPart = 4096;
constexpr std::int64_t kPartsPerThread = 4;
// Reading a panel once costs about as much as multiplying it with this many rows.
constexpr std::int64_t kRowsPerRead = 4;

std::int64_t panel_cost(std::int64_t rows) { return rows + kRowsPerRead; }

// `lines`: what there is to do, in kLinesPerPart's unit.
template <class Do>
void share(ThreadPool* pool, const WorkCuts& cuts, std::int64_t lines, const Do& do_units) {
  const int threads = pool == nullptr ? 1 : pool->threads();
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

// What one call knows of an expert besides its rows.
struct Placed {
  const std::byte* block;
  const float* const* x;
  float* const* y;
  std::int64_t rows, rows_before;
};

}  // namespace

void Grouped::matmul(const float* x, std::int64_t x_stride, std::int64_t rows, const Packed& w, float* y,
                     std::int64_t y_stride, Scratch& scratch, ThreadPool* pool) const {
  if (rows == 0 || w.n == 0) return;
  const auto count = static_cast<std::size_t>(rows);
  auto* pointers = scratch.get(kPointers, 2 * count * sizeof(float*));
  const auto** inputs = reinterpret_cast<const float**>(pointers);
  auto** outputs = reinterpret_cast<float**>(pointers + count * sizeof(float*));
  for (std::int64_t r = 0; r < rows; ++r) {
    inputs[r] = x + r * x_stride;
    outputs[r] = y + r * y_stride;
  }
  const std::int64_t row_bytes = lines_of(w.k) * kLineBytes;
  std::byte* lines = scratch.get(kInputLines, count * static_cast<std::size_t>(row_bytes));
  auto* items = reinterpret_cast<WorkItem*>(scratch.get(kItems, 2 * sizeof(WorkItem)));

  WorkCuts tiles(items);
  tiles.add(tiles_of(rows), 1);
  share(pool, tiles, rows * lines_of(w.k), [&](std::int64_t, std::int64_t first, std::int64_t last) {
    for (std::int64_t row = first * kTileTokens; row < std::min(rows, last * kTileTokens); row += kTileTokens)
      fill_lines(inputs + row, static_cast<int>(std::min<std::int64_t>(kTileTokens, rows - row)), w.k,
                 lines + row * row_bytes);
  });

  WorkCuts panels(items);
  panels.add(panels_of(w), 1);
  share(pool, panels, panels_of(w) * lines_of(w.k) * panel_cost(rows),
        [&](std::int64_t, std::int64_t first, std::int64_t last) { multiply(lines, rows, w, first, last, outputs); });
}

void Grouped::expert_ffn(const ExpertShape& shape, std::span<const ExpertRows> experts, Scratch& scratch,
                         ThreadPool* pool) const {
  const std::int64_t count = std::ssize(experts);
  std::byte* memory = scratch.get(kItems, static_cast<std::size_t>(count + 1) * sizeof(WorkItem) +
                                              static_cast<std::size_t>(count) * sizeof(Placed));
  auto* items = reinterpret_cast<WorkItem*>(memory);
  auto* placed = reinterpret_cast<Placed*>(memory + static_cast<std::size_t>(count + 1) * sizeof(WorkItem));
  std::int64_t rows = 0, cost = 0;
  for (std::int64_t e = 0; e < count; ++e) {
    const ExpertRows& expert = experts[static_cast<std::size_t>(e)];
    placed[e] = {expert.block, expert.x.data(), expert.y.data(), std::ssize(expert.x), rows};
    rows += placed[e].rows;
    if (placed[e].rows > 0) cost += panel_cost(placed[e].rows);
  }
  if (rows == 0) return;
  const std::int64_t outer = lines_of(shape.hidden), inner = lines_of(shape.intermediate);
  std::byte* input = scratch.get(kInputLines, static_cast<std::size_t>(rows * outer * kLineBytes));
  std::byte* middle = scratch.get(kInnerLines, static_cast<std::size_t>(rows * inner * kLineBytes));

  WorkCuts tiles(items);
  for (std::int64_t e = 0; e < count; ++e) tiles.add(tiles_of(placed[e].rows), 1);
  share(pool, tiles, rows * outer, [&](std::int64_t e, std::int64_t first, std::int64_t last) {
    const Placed& expert = placed[e];
    for (std::int64_t row = first * kTileTokens; row < std::min(expert.rows, last * kTileTokens); row += kTileTokens)
      fill_lines(expert.x + row, static_cast<int>(std::min<std::int64_t>(kTileTokens, expert.rows - row)), shape.hidden,
                 input + (expert.rows_before + row) * outer * kLineBytes);
  });

  const auto cut_panels = [&](std::int64_t panels) {
    WorkCuts cuts(items);
    for (std::int64_t e = 0; e < count; ++e) cuts.add(placed[e].rows > 0 ? panels : 0, panel_cost(placed[e].rows));
    return cuts;
  };
  share(pool, cut_panels(inner), 2 * cost * inner * outer, [&](std::int64_t e, std::int64_t first, std::int64_t last) {
    const Placed& expert = placed[e];
    gate_up(input + expert.rows_before * outer * kLineBytes, expert.rows, shape.gate(expert.block),
            shape.up(expert.block), first, last, middle + expert.rows_before * inner * kLineBytes);
  });
  share(pool, cut_panels(outer), cost * inner * outer, [&](std::int64_t e, std::int64_t first, std::int64_t last) {
    const Placed& expert = placed[e];
    multiply(middle + expert.rows_before * inner * kLineBytes, expert.rows, shape.down(expert.block), first, last,
             expert.y);
  });
}

}  // namespace afore::device::cpu
