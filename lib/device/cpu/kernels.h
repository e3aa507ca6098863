#pragma once
// The arithmetic of one machine's instruction set. Weights are bf16, packed (packed.h); everything else is float32.
//
// Every function here is batch-invariant: the value of an output row depends on its own input row and the weights
// only, never on how many rows there are, where the row stands, how work is cut or on how many threads it runs. Within
// one instruction set results are the same bits everywhere; between sets they differ by rounding.
//
// AVX512-BF16 multiplies an activation as the sum of two bf16 numbers (its rounding, and the rounding of what that
// leaves), which keeps 16 bits of it: bf16 arithmetic without bf16 activations. The others multiply float32 activations
// with weights widened to float32.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "device/cpu/packed.h"

namespace afore::device::cpu {

enum class Isa { scalar, avx2, avx512bf16 };
const char* to_string(Isa isa);
bool is_supported(Isa isa);  // by this processor and system
Isa best_isa();
Isa parse_isa(std::string_view name);  // Error{usage} for an unknown or unsupported one

class ThreadPool;

// Memory that calls reuse; one per thread that calls. Slots 0 to 3 are of matmul and expert_ffn, 4 of attend; the rest
// are the caller's.
class Scratch {
 public:
  // At least `bytes`, aligned to 64; valid until the next call with the same `slot`.
  std::byte* get(int slot, std::size_t bytes);
  ~Scratch();
  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

 private:
  struct Block {
    std::byte* data = nullptr;
    std::size_t size = 0;
  };
  Block blocks_[8];
};

// One expert's part of a target: `rows` tokens, whose inputs and outputs lie anywhere.
struct ExpertRows {
  const std::byte* block = nullptr;  // packed expert (ExpertShape)
  std::span<const float* const> x;   // [rows] -> hidden floats
  std::span<float* const> y;         // [rows] -> hidden floats, overwritten; no two the same
};

class Kernels {
 public:
  static const Kernels& of(Isa isa);
  virtual ~Kernels() = default;
  virtual Isa isa() const = 0;

  // y[r][n] = sum_k x[r][k] w[n][k], k in order; strides in floats. `pool` may be null: the calling thread alone.
  virtual void matmul(const float* x, std::int64_t x_stride, std::int64_t rows, const Packed& w, float* y,
                      std::int64_t y_stride, Scratch& scratch, ThreadPool* pool) const = 0;
  // y = down(silu(gate(x)) * up(x)) of each expert's rows. Rows of an expert are cut into tiles of kTileTokens.
  virtual void expert_ffn(const ExpertShape& shape, std::span<const ExpertRows> experts, Scratch& scratch,
                          ThreadPool* pool) const = 0;
  // Sum of products in a fixed order of 16 lanes, then a fixed tree.
  virtual float dot(const float* a, const float* b, std::int64_t n) const = 0;
  // y += a * x
  virtual void axpy(float a, const float* x, float* y, std::int64_t n) const = 0;
  // y = x / rms(x) * weight, rms(x) = sqrt(mean of squares + eps); y may be x
  virtual void rms_norm(const float* x, const float* weight, float eps, float* y, std::int64_t n) const = 0;
  // x = exp(x - max x) / the sum of those; exp below e^-87 is 0
  virtual void softmax(float* x, std::int64_t n) const = 0;

  // The two halves of attention over one block of 16 positions and the query heads that share its keys and values. On
  // the way `next`, the block that the next call reads, is fetched into the cache; it may be any address.
  // scores[h * stride + t] = scale * sum_d query[h][d] keys[d][t]. `keys`: [dim][16], d in order.
  virtual void score_block(const float* query, std::int64_t heads, std::int64_t dim, const float* keys,
                           const float* next, float scale, float* scores, std::int64_t stride) const = 0;
  // out[h][d] += sum_t weights[h * stride + t] values[t][d], t = 0 … positions - 1 in order. `values`: [16][dim],
  // `out`: [heads][dim]; dim a multiple of 16.
  virtual void weigh_block(const float* weights, std::int64_t stride, std::int64_t heads, std::int64_t positions,
                           const float* values, const float* next, std::int64_t dim, float* out) const = 0;
};

}  // namespace afore::device::cpu
