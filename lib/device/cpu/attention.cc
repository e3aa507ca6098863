#include "device/cpu/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "util/error.h"

namespace afore::device::cpu {
namespace {

constexpr int kScoresSlot = 4;

// Where keys and values of one kv head of a page lie.
float* keys_of(const AttentionShape& shape, float* page, std::int64_t head) {
  return page + head * shape.head_dim * kPageTokens;
}
float* values_of(const AttentionShape& shape, float* page, std::int64_t head) {
  return page + (std::int64_t{shape.kv_heads} * shape.head_dim + head * shape.value_dim()) * kPageTokens;
}
const float* keys_of(const AttentionShape& shape, const float* page, std::int64_t head) {
  return keys_of(shape, const_cast<float*>(page), head);
}
const float* values_of(const AttentionShape& shape, const float* page, std::int64_t head) {
  return values_of(shape, const_cast<float*>(page), head);
}

// The keys or values of one head in one page are too few for a processor to see where the next ones lie. So they are
// asked for, so many pages before they are read. Inlined always: GCC drops calls of functions that only ask.
constexpr std::int64_t kFetchPages = 4;

inline __attribute__((always_inline)) void fetch(const float* from, std::int64_t floats) {
  for (std::int64_t i = 0; i < floats; i += 16) __builtin_prefetch(from + i, 0, 2);
}

std::int64_t check_page(std::span<const std::int32_t> pages, std::int64_t position) {
  AFORE_CHECK(position >= 0 && position / kPageTokens < std::ssize(pages), "a position without a page");
  return position / kPageTokens;
}

}  // namespace

void store_kv(const AttentionShape& shape, const float* key, const float* value, std::span<const std::int32_t> pages,
              std::int64_t position, float* cache) {
  const std::int64_t dim = shape.head_dim, value_dim = shape.value_dim(), slot = position % kPageTokens;
  float* page = cache + pages[static_cast<std::size_t>(check_page(pages, position))] * shape.page_floats();
  for (std::int64_t head = 0; head < shape.kv_heads; ++head) {
    float* keys = keys_of(shape, page, head) + slot;
    for (std::int64_t d = 0; d < dim; ++d) keys[d * kPageTokens] = key[head * dim + d];
    float* values = values_of(shape, page, head) + slot * value_dim;
    std::copy_n(value + head * dim, dim, values);
    std::fill(values + dim, values + value_dim, 0.0f);
  }
}

void attend(const Kernels& kernels, const AttentionShape& shape, const float* query, const float* cache,
            std::span<const std::int32_t> pages, std::int64_t position, float* out, Scratch& scratch) {
  const std::int64_t blocks = check_page(pages, position) + 1, padded = blocks * kPageTokens;
  const std::int64_t dim = shape.head_dim, value_dim = shape.value_dim(), group = shape.heads / shape.kv_heads;
  const std::int64_t page_floats = shape.page_floats();
  const float scale = 1.0f / std::sqrt(static_cast<float>(dim));
  auto* scores = reinterpret_cast<float*>(
      scratch.get(kScoresSlot, static_cast<std::size_t>(group * (padded + value_dim)) * sizeof(float)));
  float* sums = scores + group * padded;
  const auto page = [&](std::int64_t b) { return cache + pages[static_cast<std::size_t>(b)] * page_floats; };
  // What is read as the `at`-th from this head's keys on: keys of all blocks, values of all blocks, the next head's.
  const auto fetch_later = [&](std::int64_t head, std::int64_t at) __attribute__((always_inline)) {
    for (; at >= 2 * blocks; at -= 2 * blocks) ++head;
    if (head >= shape.kv_heads) return;
    if (at < blocks) fetch(keys_of(shape, page(at), head), dim * kPageTokens);
    else fetch(values_of(shape, page(at - blocks), head), value_dim * kPageTokens);
  };
  for (std::int64_t at = 0; at < kFetchPages; ++at) fetch_later(0, at);
  for (std::int64_t head = 0; head < shape.kv_heads; ++head) {
    // What is read next is on its way while a block is computed: pages lie anywhere.
    for (std::int64_t b = 0; b < blocks; ++b) {
      fetch_later(head, b + kFetchPages);
      const float* next = b + 1 < blocks ? keys_of(shape, page(b + 1), head) : values_of(shape, page(0), head);
      kernels.score_block(query + head * group * dim, group, dim, keys_of(shape, page(b), head), next, scale,
                          scores + b * kPageTokens, padded);
    }
    for (std::int64_t h = 0; h < group; ++h) kernels.softmax(scores + h * padded, position + 1);
    std::fill_n(sums, group * value_dim, 0.0f);
    for (std::int64_t b = 0; b < blocks; ++b) {
      fetch_later(head, blocks + b + kFetchPages);
      const float* next = b + 1 < blocks
                              ? values_of(shape, page(b + 1), head)
                              : keys_of(shape, page(0), std::min<std::int64_t>(head + 1, shape.kv_heads - 1));
      const std::int64_t count = std::min<std::int64_t>(kPageTokens, position + 1 - b * kPageTokens);
      kernels.weigh_block(scores + b * kPageTokens, padded, group, count, values_of(shape, page(b), head), next,
                          value_dim, sums);
    }
    for (std::int64_t h = 0; h < group; ++h) std::copy_n(sums + h * value_dim, dim, out + (head * group + h) * dim);
  }
}

}  // namespace afore::device::cpu
