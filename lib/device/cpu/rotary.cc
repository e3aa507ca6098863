#include "device/angles.h"
#include "device/cpu/attention.h"
#include "util/error.h"

namespace afore::device::cpu {

RotaryTable::RotaryTable(int rotary_dim, double theta, int positions)
    : half_(rotary_dim / 2), positions_(positions), table_(rotary_table(rotary_dim, theta, positions)) {}

void RotaryTable::apply(float* heads, int count, int head_dim, std::int64_t position) const {
  AFORE_CHECK(position >= 0 && position < positions_, "a position beyond the rotary table");
  const float* cos = table_.data() + position * 2 * half_;
  const float* sin = cos + half_;
  for (int h = 0; h < count; ++h) {
    float* low = heads + static_cast<std::int64_t>(h) * head_dim;
    float* high = low + half_;
    for (int i = 0; i < half_; ++i) {
      const float a = low[i], b = high[i];
      low[i] = a * cos[i] - b * sin[i];
      high[i] = b * cos[i] + a * sin[i];
    }
  }
}

}  // namespace afore::device::cpu
