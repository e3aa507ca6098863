#pragma once
// Weights that are finite one by one may still overflow together; what follows would be noise that looks like text.
#include <cstdint>
#include <string>

#include "util/error.h"

namespace afore::device::cpu {

inline void check_finite(const float* values, std::int64_t n, const std::string& what) {
  float sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += values[i] * 0.0f;
  if (sum != 0)
    throw Error(ErrorKind::data, what + " of a token are not finite: the model's weights overflow",
                "check the checkpoint");
}

}  // namespace afore::device::cpu
