#pragma once
// Sequences in a paged cache whose pages lie in a scattered order; what no token has written is NaN.
#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "inputs.h"
#include "kernels/attention.h"
#include "kernels/bf16.h"

namespace afore::kernels {

struct Span {  // a slice's tokens of the step: positions first … first + tokens
  std::int32_t first = 0, tokens = 0;
};

struct Scene {
  AttentionShape shape;
  std::vector<std::int32_t> slice, position, pages, pages_begin;
  std::vector<std::uint16_t> cache;
  std::vector<float> q;

  std::int32_t tokens() const { return static_cast<std::int32_t>(slice.size()); }
  std::int32_t most_positions() const { return *std::max_element(position.begin(), position.end()) + 1; }
  TokenPlaces places() const { return {slice.data(), position.data(), pages.data(), pages_begin.data()}; }
  std::vector<std::int32_t> all_tokens() const {
    std::vector<std::int32_t> all;
    for (std::int32_t t = 0; t < tokens(); ++t) all.push_back(t);
    return all;
  }
  std::size_t out_size() const { return slice.size() * shape.heads * shape.head_dim; }
  // Elements of one position of a slice in the cache: keys (which 0) or values of a kv head.
  std::size_t at(std::size_t of_slice, std::int64_t which, std::int64_t kv_head, std::int64_t at_position) const {
    const std::int64_t page = pages[pages_begin[of_slice] + at_position / kPageTokens];
    return static_cast<std::size_t>(page * page_elements(shape) +
                                    ((which * shape.kv_heads + kv_head) * kPageTokens + at_position % kPageTokens) *
                                        shape.head_dim);
  }
};

// `filled`: every position up to each slice's last has keys and values of size 1 and 2; else all is NaN.
inline Scene make_scene(const AttentionShape& shape, const std::vector<Span>& slices, std::uint64_t seed, bool filled) {
  Scene scene;
  scene.shape = shape;
  std::int32_t pages = 3;  // of nobody
  for (std::size_t s = 0; s < slices.size(); ++s) {
    for (std::int32_t i = 0; i < slices[s].tokens; ++i) {
      scene.slice.push_back(static_cast<std::int32_t>(s));
      scene.position.push_back(slices[s].first + i);
    }
    pages += (slices[s].first + slices[s].tokens + kPageTokens - 1) / kPageTokens;
  }
  std::vector<std::int32_t> order(static_cast<std::size_t>(pages));
  for (std::int32_t p = 0; p < pages; ++p) order[p] = p;
  std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
  std::size_t next = 0;
  for (const Span& span : slices) {
    scene.pages_begin.push_back(static_cast<std::int32_t>(next));
    next += (span.first + span.tokens + kPageTokens - 1) / kPageTokens;
  }
  scene.pages.assign(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(next));
  scene.cache.assign(static_cast<std::size_t>(pages * page_elements(shape)), 0x7fc1);
  scene.q = random_floats(scene.slice.size() * shape.heads * shape.head_dim, seed + 1, 2);
  if (!filled) return scene;
  for (std::size_t s = 0; s < slices.size(); ++s)
    for (std::int64_t p = 0; p < slices[s].first + slices[s].tokens; ++p)
      for (std::int64_t which = 0; which < 2; ++which)
        for (std::int64_t h = 0; h < shape.kv_heads; ++h) {
          const std::vector<float> row =
              random_floats(shape.head_dim, seed + 7 * p + 3 * h + which + 1000 * s, which == 0 ? 1.0f : 2.0f);
          std::transform(row.begin(), row.end(), scene.cache.begin() + scene.at(s, which, h, p), bf16_of);
        }
  return scene;
}

}  // namespace afore::kernels
