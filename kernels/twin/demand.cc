#include "kernels/gate.h"

namespace afore::kernels::twin {

void demand_histogram(const std::int32_t* ids, std::int32_t pairs, std::int32_t experts, std::int32_t* counts) {
  for (std::int32_t e = 0; e < experts; ++e) counts[e] = 0;
  for (std::int32_t i = 0; i < pairs; ++i) ++counts[ids[i]];
}

}  // namespace afore::kernels::twin
