#pragma once
// What tests of kernels share.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>

#include "inputs.h"
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

}  // namespace afore::kernels
