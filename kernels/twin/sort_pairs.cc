#include "kernels/gate.h"

#include <vector>

namespace afore::kernels::twin {

void sort_pairs(const std::int32_t* ids, std::int32_t pairs, std::int32_t experts, const std::int32_t* counts,
                std::int32_t* begin, std::int32_t* sorted) {
  begin[0] = 0;
  for (std::int32_t e = 0; e < experts; ++e) begin[e + 1] = begin[e] + counts[e];
  std::vector<std::int32_t> next(begin, begin + experts);
  for (std::int32_t i = 0; i < pairs; ++i) sorted[next[static_cast<std::size_t>(ids[i])]++] = i;
}

}  // namespace afore::kernels::twin
