#include "device/cpu/step_state.h"

namespace afore::device::cpu {

void StepState::sort_by_expert(int experts_in_layer) {
  counts.assign(static_cast<std::size_t>(experts_in_layer), 0);
  for (const std::int32_t expert : experts) ++counts[expert];
  begin.resize(counts.size() + 1);
  begin[0] = 0;
  for (std::size_t e = 0; e < counts.size(); ++e) begin[e + 1] = begin[e] + static_cast<std::int32_t>(counts[e]);
  pairs.resize(experts.size());
  for (std::size_t i = 0; i < experts.size(); ++i) pairs[begin[experts[i]]++] = static_cast<std::int32_t>(i);
  for (std::size_t e = counts.size(); e > 0; --e) begin[e] = begin[e - 1];
  begin[0] = 0;
}

}  // namespace afore::device::cpu
