#include <cmath>

#include "device/cpu/attention.h"
#include "util/error.h"
#include "util/fmath.h"

namespace afore::device::cpu {

// As transformers does it in float32 (modeling_rope_utils.py, default RoPE): the exponent, the power, its reciprocal
// and the product with the position are each rounded to float32; cos and sin are those of that angle.
RotaryTable::RotaryTable(int rotary_dim, double theta, int positions) : half_(rotary_dim / 2), positions_(positions) {
  AFORE_CHECK(rotary_dim >= 0 && rotary_dim % 2 == 0 && positions >= 0, "a rotary table of an odd dimension");
  cos_.resize(static_cast<std::size_t>(half_) * positions);
  sin_.resize(cos_.size());
  for (int i = 0; i < half_; ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(rotary_dim);
    const float inverse = 1.0f / static_cast<float>(fmath::pow(theta, exponent));
    for (int position = 0; position < positions; ++position) {
      const float angle = static_cast<float>(position) * inverse;
      const std::size_t at = static_cast<std::size_t>(position) * half_ + i;
      cos_[at] = static_cast<float>(std::cos(static_cast<double>(angle)));
      sin_[at] = static_cast<float>(std::sin(static_cast<double>(angle)));
    }
  }
}

void RotaryTable::apply(float* heads, int count, int head_dim, std::int64_t position) const {
  AFORE_CHECK(position >= 0 && position < positions_, "a position beyond the rotary table");
  const float* cos = cos_.data() + position * half_;
  const float* sin = sin_.data() + position * half_;
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
