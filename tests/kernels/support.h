#pragma once
// What tests of kernels share.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "kernels/gpu.h"

namespace afore::kernels {

// Runs `body` under several orders of threads and blocks; the first is the natural one.
inline void for_schedules(const std::function<void()>& body) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    SCOPED_TRACE("schedule " + std::to_string(seed));
    shim::set_schedule(seed);
    body();
  }
  shim::set_schedule(0);
}

// In [-size, size), the same everywhere.
inline std::vector<float> random_floats(std::size_t count, std::uint64_t seed, float size) {
  std::mt19937_64 random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = size * (static_cast<float>(random() >> 40) * 0x1p-23f - 1);
  return values;
}

}  // namespace afore::kernels
