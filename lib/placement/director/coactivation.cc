#include "placement/director/coactivation.h"

#include <fmt/format.h>

#include <algorithm>

#include "util/error.h"

namespace afore::placement::director {

void Coactivation::add(const Routing& routing) {
  for (const std::vector<int>& chosen : routing.experts) {
    for (const int expert : chosen)
      if (expert < 0 || expert >= experts)
        throw Error(ErrorKind::data, fmt::format("routing names expert {} of {}", expert, experts));
    for (std::size_t i = 0; i < chosen.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) {
        if (chosen[i] == chosen[j]) continue;
        ++pairs[static_cast<std::size_t>(chosen[i]) * experts + chosen[j]];
        ++pairs[static_cast<std::size_t>(chosen[j]) * experts + chosen[i]];
      }
  }
}

std::int64_t expected_rows(std::span<const int> experts, std::span<const std::int64_t> counts,
                           const Coactivation& together) {
  std::int64_t rows = 0, largest = 0;
  for (std::size_t i = 0; i < experts.size(); ++i) {
    rows += counts[experts[i]];
    largest = std::max(largest, counts[experts[i]]);
    for (std::size_t j = 0; j < i; ++j) rows -= together.of(experts[i], experts[j]);
  }
  return std::max(rows, largest);
}

double saved_rows(std::span<const TileShare> assignment, std::span<const std::int64_t> tiles, int workers,
                  const Coactivation& together) {
  std::vector<std::vector<TileShare>> of_worker(workers);
  double saved = 0;
  for (const TileShare& share : assignment) {
    const double part = static_cast<double>(share.tiles) / static_cast<double>(tiles[share.expert]);
    for (const TileShare& other : of_worker[share.worker])
      saved += part * static_cast<double>(other.tiles) / static_cast<double>(tiles[other.expert]) *
               static_cast<double>(together.of(share.expert, other.expert));
    of_worker[share.worker].push_back(share);
  }
  return saved;
}

}  // namespace afore::placement::director
