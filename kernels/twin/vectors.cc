#include "kernels/vectors.h"

#include "kernels/bf16.h"

namespace afore::kernels::twin {

void embed(const std::uint16_t* table, const std::int32_t* ids, std::int32_t tokens, std::int32_t n, float* out) {
  for (std::int64_t t = 0; t < tokens; ++t)
    for (std::int64_t i = 0; i < n; ++i) out[t * n + i] = float_of(table[std::int64_t{ids[t]} * n + i]);
}

}  // namespace afore::kernels::twin
