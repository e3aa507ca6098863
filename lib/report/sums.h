#pragma once
#include <cstdint>
#include <numeric>
#include <vector>

namespace afore::report {

// In doubles: single counts stay within 63 bits, their sum need not.
inline double sum_of(const std::vector<std::int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), 0.0);
}

}  // namespace afore::report
