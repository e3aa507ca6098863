#pragma once
// The grouped expert FFN: bf16 in, float32 accumulate. Work is a list of tiles in device memory; a tile's M is at most
// tile_tokens, the M tile that plans count in. A row's accumulation order depends on K alone: never on M, on where the
// row stands, on the tile size or on the other rows.
#include <cstddef>
#include <cstdint>

#include "kernels/expert_rows.h"
#include "kernels/gpu.h"

namespace afore::kernels {

// Slot s lies at base + s * slot_bytes: gate | up, [intermediate][hidden] each, | down [hidden][intermediate], bf16.
// base and slot_bytes are multiples of 256; hidden and intermediate multiples of 8.
struct ExpertArena {
  const std::byte* base = nullptr;
  std::int64_t slot_bytes = 0;
  std::int32_t hidden = 0, intermediate = 0;
};
constexpr std::int64_t expert_bytes(std::int32_t hidden, std::int32_t intermediate) {
  return std::int64_t{3} * hidden * intermediate * 2;
}
constexpr bool is_tile(std::int32_t tile_tokens) { return tile_tokens == 16 || tile_tokens == 32 || tile_tokens == 64; }

// h[r] = bf16(silu(gate xs[r]) * (up xs[r])), of the rows of tiles[0 … counts->tiles). xs: [rows][hidden] bf16, h:
// [rows][intermediate] bf16. `most_tiles`: the host's bound.
void expert_gate_up(const ExpertArena& arena, const std::uint16_t* xs, const Tile* tiles, const WorkCounts* counts,
                    std::int32_t most_tiles, std::int32_t tile_tokens, std::uint16_t* h, cudaStream_t stream);
// y[r] = down h[r]. y: [rows][hidden] float32.
void expert_down(const ExpertArena& arena, const std::uint16_t* h, const Tile* tiles, const WorkCounts* counts,
                 std::int32_t most_tiles, std::int32_t tile_tokens, float* y, cudaStream_t stream);

// y[r][n] = sum_k x[r][k] w[n][k]. x: [rows][k], w: [n][k] bf16, k a multiple of 8; y: [rows][n] float32.
void linear(const std::uint16_t* x, const std::uint16_t* w, std::int32_t rows, std::int32_t n, std::int32_t k, float* y,
            cudaStream_t stream);

// Once per device, before the first launch there: what shared memory the kernels here need.
cudaError_t prepare_expert_ffn();

namespace twin {  // sums in double, rounded once
void expert_gate_up(const ExpertArena& arena, const std::uint16_t* xs, const Tile* tiles, const WorkCounts* counts,
                    std::uint16_t* h);
void expert_down(const ExpertArena& arena, const std::uint16_t* h, const Tile* tiles, const WorkCounts* counts,
                 float* y);
void linear(const std::uint16_t* x, const std::uint16_t* w, std::int32_t rows, std::int32_t n, std::int32_t k,
            float* y);
}  // namespace twin

}  // namespace afore::kernels
