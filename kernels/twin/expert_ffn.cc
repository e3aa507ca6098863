#include "kernels/expert_ffn.h"

#include <cmath>

#include "kernels/bf16.h"

namespace afore::kernels::twin {
namespace {

double dot(const std::uint16_t* x, const std::uint16_t* w, std::int64_t k) {
  double sum = 0;
  for (std::int64_t i = 0; i < k; ++i) sum += static_cast<double>(float_of(x[i])) * static_cast<double>(float_of(w[i]));
  return sum;
}

const std::uint16_t* matrices(const ExpertArena& arena, const Tile& tile) {
  return reinterpret_cast<const std::uint16_t*>(arena.base + tile.slot * arena.slot_bytes);
}

}  // namespace

void expert_gate_up(const ExpertArena& arena, const std::uint16_t* xs, const Tile* tiles, const WorkCounts* counts,
                    std::uint16_t* h) {
  const std::int64_t hidden = arena.hidden, intermediate = arena.intermediate;
  for (const Tile* tile = tiles; tile < tiles + counts->tiles; ++tile) {
    const std::uint16_t* gate = matrices(arena, *tile);
    const std::uint16_t* up = gate + intermediate * hidden;
    for (std::int64_t r = tile->row; r < tile->row + tile->rows; ++r)
      for (std::int64_t i = 0; i < intermediate; ++i) {
        const double g = dot(xs + r * hidden, gate + i * hidden, hidden);
        const double u = dot(xs + r * hidden, up + i * hidden, hidden);
        h[r * intermediate + i] = bf16_of(static_cast<float>(g / (1 + std::exp(-g)) * u));
      }
  }
}

void expert_down(const ExpertArena& arena, const std::uint16_t* h, const Tile* tiles, const WorkCounts* counts,
                 float* y) {
  const std::int64_t hidden = arena.hidden, intermediate = arena.intermediate;
  for (const Tile* tile = tiles; tile < tiles + counts->tiles; ++tile) {
    const std::uint16_t* down = matrices(arena, *tile) + 2 * intermediate * hidden;
    for (std::int64_t r = tile->row; r < tile->row + tile->rows; ++r)
      for (std::int64_t i = 0; i < hidden; ++i)
        y[r * hidden + i] = static_cast<float>(dot(h + r * intermediate, down + i * intermediate, intermediate));
  }
}

void linear(const std::uint16_t* x, const std::uint16_t* w, std::int32_t rows, std::int32_t n, std::int32_t k,
            float* y) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t i = 0; i < n; ++i) y[r * n + i] = static_cast<float>(dot(x + r * k, w + i * k, k));
}

}  // namespace afore::kernels::twin
