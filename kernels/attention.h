#pragma once
// Attention over a paged cache. One layer's cache of one attention worker: [pages][2][kv_heads][kPageTokens][head_dim]
// bf16, keys before values. A query's result depends on its own sequence alone: positions are reduced in blocks of
// kPageTokens and chunks of kChunkTokens, in order, whether the query is a decode step's or a prompt's.
#include <cstdint>

#include "kernels/gpu.h"

namespace afore::kernels {

inline constexpr std::int32_t kPageTokens = 16;
inline constexpr std::int32_t kChunkTokens = 256;

struct AttentionShape {
  std::int32_t heads = 0, kv_heads = 0, head_dim = 0;  // heads a multiple of kv_heads; head_dim of 8, at most 256
  std::int32_t rotary_dim = 0;                         // even; the first dimensions of each head, half-split form
};
__host__ __device__ constexpr std::int64_t page_elements(const AttentionShape& shape) {
  return std::int64_t{2} * shape.kv_heads * kPageTokens * shape.head_dim;
}

// A step's tokens, in device memory.
struct TokenPlaces {
  const std::int32_t* slice = nullptr;        // [tokens]: the token's sequence
  const std::int32_t* position = nullptr;     // [tokens]: its place there
  const std::int32_t* pages = nullptr;        // the sequences' pages, one after the other
  const std::int32_t* pages_begin = nullptr;  // [slices]: where a sequence's pages begin
};

// What the model adds to q, k and v; any may be null.
struct QkvWeights {
  const float* bias = nullptr;                       // [(heads + 2 kv_heads) * head_dim]
  const float *q_norm = nullptr, *k_norm = nullptr;  // [head_dim]: RMSNorm of each head
  float eps = 0;
};

// qkv + bias, norms, rotation; q: [tokens][heads][head_dim] float32, keys and values into the cache (rounded to bf16).
// qkv: [tokens][(heads + 2 kv_heads) * head_dim] float32. cos_sin: [positions][rotary_dim]: rotary_dim/2 cosines, then
// as many sines.
void store_qkv(const AttentionShape& shape, const QkvWeights& weights, const float* qkv, const TokenPlaces& places,
               std::int32_t tokens, const float* cos_sin, float* q, std::uint16_t* cache, cudaStream_t stream);

// out[t] = softmax(q[t] keys / sqrt(head_dim)) values over positions 0 … position of its sequence, for the tokens
// listed. out: [tokens][heads][head_dim] bf16. `most_positions`: the largest position + 1 of any of them (the host's
// bound). scratch: at least attend_scratch_floats(...) floats.
std::int64_t attend_scratch_floats(const AttentionShape& shape, std::int32_t count, std::int32_t most_positions);
void attend_decode(const AttentionShape& shape, const float* q, const std::uint16_t* cache, const TokenPlaces& places,
                   const std::int32_t* tokens, std::int32_t count, std::int32_t most_positions, float* scratch,
                   std::uint16_t* out, cudaStream_t stream);

// The same for runs of consecutive tokens of one sequence, 1 to kQueryTile in a run: keys and values are read once
// for all tokens of a run (and up to four heads). Bit for bit what attend_decode gives.
inline constexpr std::int32_t kQueryTile = 16;
struct QueryRun {
  std::int32_t first = 0, tokens = 0;  // token indices of the step
};
void attend_prefill(const AttentionShape& shape, const float* q, const std::uint16_t* cache, const TokenPlaces& places,
                    const QueryRun* runs, std::int32_t count, std::uint16_t* out, cudaStream_t stream);

namespace twin {
void store_qkv(const AttentionShape& shape, const QkvWeights& weights, const float* qkv, const TokenPlaces& places,
               std::int32_t tokens, const float* cos_sin, float* q, std::uint16_t* cache);
// In double, one softmax over all positions.
void attend(const AttentionShape& shape, const float* q, const std::uint16_t* cache, const TokenPlaces& places,
            const std::int32_t* tokens, std::int32_t count, std::uint16_t* out);
}  // namespace twin

}  // namespace afore::kernels
