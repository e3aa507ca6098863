#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/attention.h"
#include "kernels/bf16.h"

namespace afore::kernels::twin {

void attend(const AttentionShape& shape, const float* q, const std::uint16_t* cache, const TokenPlaces& places,
            const std::int32_t* tokens, std::int32_t count, std::uint16_t* out) {
  const std::int64_t dim = shape.head_dim, group = shape.heads / shape.kv_heads;
  for (std::int32_t i = 0; i < count; ++i) {
    const std::int64_t token = tokens[i], positions = places.position[token] + 1;
    const std::int32_t* pages = places.pages + places.pages_begin[places.slice[token]];
    const auto row = [&](std::int64_t which, std::int64_t kv_head, std::int64_t position) {
      return cache + pages[position / kPageTokens] * page_elements(shape) +
             ((which * shape.kv_heads + kv_head) * kPageTokens + position % kPageTokens) * dim;
    };
    for (std::int64_t head = 0; head < shape.heads; ++head) {
      const float* query = q + (token * shape.heads + head) * dim;
      std::vector<double> weights(static_cast<std::size_t>(positions)), sums(static_cast<std::size_t>(dim));
      for (std::int64_t p = 0; p < positions; ++p) {
        for (std::int64_t d = 0; d < dim; ++d) weights[p] += double{query[d]} * float_of(row(0, head / group, p)[d]);
        weights[p] /= std::sqrt(static_cast<double>(dim));
      }
      const double most = *std::max_element(weights.begin(), weights.end());
      double total = 0;
      for (double& weight : weights) total += weight = std::exp(weight - most);
      for (std::int64_t p = 0; p < positions; ++p)
        for (std::int64_t d = 0; d < dim; ++d) sums[d] += weights[p] / total * float_of(row(1, head / group, p)[d]);
      for (std::int64_t d = 0; d < dim; ++d)
        out[(token * shape.heads + head) * dim + d] = bf16_of(static_cast<float>(sums[d]));
    }
  }
}

}  // namespace afore::kernels::twin
