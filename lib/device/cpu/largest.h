#pragma once
// The largest of a row of floats, by what every processor has vectors for.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>

namespace afore::device::cpu {

// -infinity of none, and of what is not a number.
inline float largest_of(std::span<const float> x) {
  constexpr std::size_t kLanes = 16;
  float most[kLanes];
  std::fill_n(most, kLanes, -std::numeric_limits<float>::infinity());
  std::size_t i = 0;
  for (; i + kLanes <= x.size(); i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) most[lane] = x[i + lane] > most[lane] ? x[i + lane] : most[lane];
  for (; i < x.size(); ++i) most[0] = x[i] > most[0] ? x[i] : most[0];
  return *std::max_element(most, most + kLanes);
}

// Where the first of the largest is; 0 when none is above -infinity. Only the strip that it is in is searched for it.
inline std::size_t first_largest(std::span<const float> x) {
  constexpr std::size_t kStrip = 256;
  float most = -std::numeric_limits<float>::infinity();
  std::size_t first = 0;
  for (std::size_t at = 0; at < x.size(); at += kStrip)
    if (const float here = largest_of(x.subspan(at, std::min(kStrip, x.size() - at))); here > most) {
      most = here;
      first = at;
    }
  const auto found = std::find(x.begin() + static_cast<std::ptrdiff_t>(first), x.end(), most);
  return found == x.end() ? 0 : static_cast<std::size_t>(found - x.begin());
}

}  // namespace afore::device::cpu
