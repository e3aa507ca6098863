#include "kernels/expert_rows.h"

#include <algorithm>

namespace afore::kernels::twin {
namespace {

// The pair of an expert's occurrence; {-1, -1} of one that it does not have.
Row row_of(const Part* parts, std::int32_t num_parts, std::int32_t expert, std::int64_t occurrence) {
  for (std::int32_t p = 0; p < num_parts; ++p) {
    if (occurrence < parts[p].counts[expert]) return {p, parts[p].sorted[parts[p].begin[expert] + occurrence]};
    occurrence -= parts[p].counts[expert];
  }
  return {-1, -1};
}

}  // namespace

void list_work(const Part* parts, const Share* shares, WorkCounts* counts, const WorkBounds& bounds,
               std::int32_t tile_tokens, Row* rows, Tile* tiles) {
  for (std::int32_t p = 0; p < bounds.parts; ++p)
    for (std::int64_t i = 0; i < std::int64_t{std::min(parts[p].tokens, bounds.part_tokens)} * bounds.top_k; ++i)
      parts[p].row_of_pair[i] = -1;
  counts->rows = counts->tiles = 0;
  for (std::int32_t s = 0; s < std::min(counts->shares, bounds.shares); ++s) {
    const std::int32_t tokens = std::clamp(shares[s].tokens, 0, bounds.rows - counts->rows);
    for (std::int32_t i = 0; i < tokens; ++i) {
      const std::int32_t r = counts->rows + i;
      rows[r] = row_of(parts, bounds.parts, shares[s].expert, std::int64_t{shares[s].first} + i);
      if (rows[r].part >= 0) parts[rows[r].part].row_of_pair[rows[r].pair] = r;
    }
    for (std::int32_t i = 0; i < tokens && counts->tiles < bounds.tiles; i += tile_tokens)
      tiles[counts->tiles++] = {shares[s].slot, counts->rows + i, std::min(tile_tokens, tokens - i)};
    counts->rows += tokens;
  }
}

void list_dense(std::int32_t rows, std::int32_t tile_tokens, WorkCounts* counts, Tile* tiles) {
  *counts = {1, rows, 0};
  for (std::int32_t row = 0; row < rows; row += tile_tokens)
    tiles[counts->tiles++] = {0, row, std::min(tile_tokens, rows - row)};
}

}  // namespace afore::kernels::twin
