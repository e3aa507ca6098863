#include "kernels/expert_rows.h"

#include <algorithm>

namespace afore::kernels::twin {

void gather_rows(const Part* parts, const Row* rows, const WorkCounts* counts, const WorkBounds& bounds,
                 std::int32_t hidden, std::uint16_t* xs) {
  for (std::int64_t r = 0; r < std::min(counts->rows, bounds.rows); ++r) {
    const auto [part, pair] = rows[r];
    for (std::int64_t i = 0; i < hidden; ++i)
      xs[r * hidden + i] = part < 0 ? std::uint16_t{0} : parts[part].x[std::int64_t{pair / bounds.top_k} * hidden + i];
  }
}

void scatter_rows(const Part* parts, const Row* rows, const WorkCounts* counts, const WorkBounds& bounds,
                  std::int32_t hidden, const float* y) {
  for (std::int64_t r = 0; r < std::min(counts->rows, bounds.rows); ++r) {
    const auto [part, pair] = rows[r];
    if (part < 0) continue;
    for (std::int64_t i = 0; i < hidden; ++i) parts[part].out[std::int64_t{pair} * hidden + i] = y[r * hidden + i];
  }
}

}  // namespace afore::kernels::twin
