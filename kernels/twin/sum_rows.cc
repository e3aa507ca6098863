#include "kernels/expert_rows.h"

#include <algorithm>

namespace afore::kernels::twin {

void sum_rows(const Part* parts, const WorkBounds& bounds, std::int32_t hidden, const float* y) {
  for (std::int32_t p = 0; p < bounds.parts; ++p) {
    const Part& part = parts[p];
    for (std::int64_t t = 0; t < std::min(part.tokens, bounds.part_tokens); ++t)
      for (std::int64_t i = 0; i < hidden; ++i) {
        float sum = 0;
        for (std::int64_t k = 0; k < bounds.top_k; ++k) {
          const std::int64_t row = part.row_of_pair[t * bounds.top_k + k];
          if (row >= 0) sum += part.weights[t * bounds.top_k + k] * y[row * hidden + i];
        }
        part.out[t * hidden + i] = sum;
      }
  }
}

}  // namespace afore::kernels::twin
