#include "device/angles.h"

#include <cmath>
#include <cstddef>

#include "util/error.h"
#include "util/fmath.h"

namespace afore::device {

// As transformers does it in float32 (modeling_rope_utils.py, default RoPE): the exponent, the power, its reciprocal
// and the product with the position are each rounded to float32; cos and sin are those of that angle.
std::vector<float> rotary_table(int rotary_dim, double theta, int positions) {
  AFORE_CHECK(rotary_dim >= 0 && rotary_dim % 2 == 0 && positions >= 0, "a rotary table of an odd dimension");
  const int half = rotary_dim / 2;
  std::vector<float> table(static_cast<std::size_t>(rotary_dim) * positions);
  for (int i = 0; i < half; ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(rotary_dim);
    const float inverse = 1.0f / static_cast<float>(fmath::pow(theta, exponent));
    for (int position = 0; position < positions; ++position) {
      const float angle = static_cast<float>(position) * inverse;
      float* row = table.data() + static_cast<std::size_t>(position) * rotary_dim;
      row[i] = static_cast<float>(std::cos(static_cast<double>(angle)));
      row[half + i] = static_cast<float>(std::sin(static_cast<double>(angle)));
    }
  }
  return table;
}

}  // namespace afore::device
