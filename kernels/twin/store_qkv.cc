#include <cmath>
#include <vector>

#include "kernels/attention.h"
#include "kernels/bf16.h"

namespace afore::kernels::twin {
namespace {

void norm(std::vector<double>& head, const float* weight, float eps) {
  double squares = 0;
  for (const double value : head) squares += value * value;
  const double rms = std::sqrt(squares / static_cast<double>(head.size()) + eps);
  for (std::size_t d = 0; d < head.size(); ++d) head[d] = head[d] / rms * weight[d];
}

void rotate(std::vector<double>& head, std::int64_t half, const float* cos, const float* sin) {
  for (std::int64_t i = 0; i < half; ++i) {
    const double low = head[i], high = head[i + half];
    head[i] = low * cos[i] - high * sin[i];
    head[i + half] = high * cos[i] + low * sin[i];
  }
}

}  // namespace

// Bias in float32, as what follows would be without one; the rest in double, rounded once.
void store_qkv(const AttentionShape& shape, const QkvWeights& weights, const float* qkv, const TokenPlaces& places,
               std::int32_t tokens, const float* cos_sin, float* q, std::uint16_t* cache) {
  const std::int64_t dim = shape.head_dim, rows = shape.heads + 2 * shape.kv_heads, half = shape.rotary_dim / 2;
  for (std::int64_t t = 0; t < tokens; ++t) {
    const std::int64_t position = places.position[t];
    const std::int64_t page = places.pages[places.pages_begin[places.slice[t]] + position / kPageTokens];
    std::uint16_t* keys = cache + page * page_elements(shape);
    std::uint16_t* values = keys + shape.kv_heads * kPageTokens * dim;
    const float* cos = cos_sin + position * shape.rotary_dim;
    for (std::int64_t row = 0; row < rows; ++row) {
      const bool is_query = row < shape.heads, is_value = row >= shape.heads + shape.kv_heads;
      std::vector<double> head;
      for (std::int64_t d = 0; d < dim; ++d)
        head.push_back(weights.bias ? qkv[(t * rows + row) * dim + d] + weights.bias[row * dim + d]
                                    : qkv[(t * rows + row) * dim + d]);
      const float* weight = is_query ? weights.q_norm : is_value ? nullptr : weights.k_norm;
      if (weight) norm(head, weight, weights.eps);
      if (!is_value) rotate(head, half, cos, cos + half);
      const std::int64_t kv_head = is_value ? row - shape.heads - shape.kv_heads : row - shape.heads;
      const std::int64_t at = (kv_head * kPageTokens + position % kPageTokens) * dim;
      for (std::int64_t d = 0; d < dim; ++d) {
        const float value = static_cast<float>(head[d]);
        if (is_query) q[(t * shape.heads + row) * dim + d] = value;
        else (is_value ? values : keys)[at + d] = bf16_of(value);
      }
    }
  }
}

}  // namespace afore::kernels::twin
