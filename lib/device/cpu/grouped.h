#pragma once
// matmul and expert_ffn by what an instruction set does with one tile or with some panels: where the activations lie
// and how the work is shared among threads. Inside this room only.
//
// Activations are multiplied from lines: a tile of r <= kTileTokens rows is [ceil(k/16)][r] lines of 64 bytes, each 16
// consecutive k of one row in the form that the instruction set multiplies, zeros after k. A panel of gate and up gives
// just one line of each row for down.
#include <cstdint>

#include "device/cpu/kernels.h"

namespace afore::device::cpu {

inline constexpr std::int64_t kLineBytes = 64;

constexpr std::int64_t lines_of(std::int64_t k) { return (k + kPanel - 1) / kPanel; }
constexpr std::int64_t panels_of(const Packed& w) { return (w.n + kPanel - 1) / kPanel; }
constexpr std::int64_t tiles_of(std::int64_t rows) { return (rows + kTileTokens - 1) / kTileTokens; }

class Grouped : public Kernels {
 public:
  void matmul(const float* x, std::int64_t x_stride, std::int64_t rows, const Packed& w, float* y,
              std::int64_t y_stride, Scratch& scratch, ThreadPool* pool) const final;
  void expert_ffn(const ExpertShape& shape, std::span<const ExpertRows> experts, Scratch& scratch,
                  ThreadPool* pool) const final;

 protected:
  // One tile's rows of k floats into lines.
  virtual void fill_lines(const float* const* x, int rows, std::int64_t k, std::byte* lines) const = 0;
  // Panels first … last - 1 of w, for all tiles of `rows` rows: into the rows y[0 … rows - 1].
  virtual void multiply(const std::byte* lines, std::int64_t rows, const Packed& w, std::int64_t first,
                        std::int64_t last, float* const* y) const = 0;
  // silu(gate) * up of those panels, into lines of down's tiles.
  virtual void gate_up(const std::byte* lines, std::int64_t rows, const Packed& gate, const Packed& up,
                       std::int64_t first, std::int64_t last, std::byte* out) const = 0;
};

}  // namespace afore::device::cpu
