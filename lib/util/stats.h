#pragma once
// Small statistics over values already collected.
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace afore {

// Nearest-rank quantile, q in [0, 1]; sorts `values`. nullopt when empty.
template <class T>
std::optional<T> quantile(std::vector<T>& values, double q) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(values.size())));
  return values[std::min(values.size() - 1, rank == 0 ? 0 : rank - 1)];
}

}  // namespace afore
