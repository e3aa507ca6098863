#pragma once
// Attention over a paged cache. Keys and values of one layer and one attention worker lie in pages of kPageTokens
// positions, float32. A page is its keys, [kv_heads][head_dim][kPageTokens], so that a block's scores are one vector,
// then its values, [kv_heads][kPageTokens][value_dim()]. A sequence owns a list of pages.
#include <cstdint>
#include <span>
#include <vector>

#include "device/cpu/kernels.h"
#include "device/page_pool.h"

namespace afore::device::cpu {

struct AttentionShape {
  int heads = 0, kv_heads = 0, head_dim = 0;
  // head_dim, rounded up to whole vectors of 16.
  constexpr std::int64_t value_dim() const { return (head_dim + 15) / 16 * std::int64_t{16}; }
  constexpr std::int64_t page_floats() const { return std::int64_t{kv_heads} * kPageTokens * (head_dim + value_dim()); }
};

// cos and sin of every position's rotary angles; built once, read by all.
class RotaryTable {
 public:
  RotaryTable(int rotary_dim, double theta, int positions);
  // Rotates the first rotary_dim entries of each head in place, half-split form (x[i] with x[i + rotary_dim/2]).
  void apply(float* heads, int count, int head_dim, std::int64_t position) const;
  int positions() const { return positions_; }

 private:
  int half_, positions_;
  std::vector<float> table_;  // rotary_table()
};

// One token's keys and values [kv_heads][head_dim] into the cache.
void store_kv(const AttentionShape& shape, const float* key, const float* value, std::span<const std::int32_t> pages,
              std::int64_t position, float* cache);

// One query token [heads][head_dim] at `position` over positions 0 … position of its sequence, in order of blocks of
// kPageTokens: out [heads][head_dim], scaled by 1/sqrt(head_dim).
void attend(const Kernels& kernels, const AttentionShape& shape, const float* query, const float* cache,
            std::span<const std::int32_t> pages, std::int64_t position, float* out, Scratch& scratch);

}  // namespace afore::device::cpu
