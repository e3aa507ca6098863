#include "kernels/expert_rows.h"

namespace afore::kernels::twin {

void combine_exact(const float* weights, const float* y, const float* shared, std::int32_t tokens, std::int32_t top_k,
                   std::int32_t hidden, float* residual) {
  for (std::int64_t t = 0; t < tokens; ++t)
    for (std::int64_t i = 0; i < hidden; ++i) {
      float sum = 0;
      for (std::int64_t k = 0; k < top_k; ++k) sum += weights[t * top_k + k] * y[(t * top_k + k) * hidden + i];
      float& to = residual[t * hidden + i];
      to += sum;
      if (shared != nullptr) to += shared[t * hidden + i];
    }
}

void combine_partial(const float* y, const std::uint32_t* used, std::int32_t workers, const float* shared,
                     std::int32_t tokens, std::int32_t hidden, float* residual) {
  for (std::int64_t t = 0; t < tokens; ++t)
    for (std::int64_t i = 0; i < hidden; ++i) {
      float& to = residual[t * hidden + i];
      for (std::int64_t w = 0; w < workers; ++w)
        if (used[w / 32] >> (w % 32) & 1) to += y[(w * tokens + t) * hidden + i];
      if (shared != nullptr) to += shared[t * hidden + i];
    }
}

}  // namespace afore::kernels::twin
