#pragma once
// Which experts tokens choose together. A token with several of its experts on one worker is sent there once.
#include <cstdint>
#include <span>
#include <vector>

#include "core/assignment.h"
#include "core/records.h"

namespace afore::placement::director {

// Pair counts of one layer, symmetric.
struct Coactivation {
  explicit Coactivation(int count) : experts(count), pairs(static_cast<std::size_t>(count) * count, 0) {}

  // Every token's pairs of different experts, each once. Error{data} for an expert that is out of range.
  void add(const Routing& routing);
  std::int64_t of(int a, int b) const { return pairs[static_cast<std::size_t>(a) * experts + b]; }

  int experts;
  std::vector<std::int64_t> pairs;
};

// Rows that reach a worker with these experts (no expert twice): token-expert pairs less co-activated pairs, which is
// exact up to two of a token's experts there, and too low beyond (the inclusion-exclusion's second order); not below
// the largest count.
std::int64_t expected_rows(std::span<const int> experts, std::span<const std::int64_t> counts,
                           const Coactivation& together);

// Rows that the assignment saves by the same order, over all workers: what an expert has in parts meets another's
// tokens in proportion.
double saved_rows(std::span<const TileShare> assignment, std::span<const std::int64_t> tiles, int workers,
                  const Coactivation& together);

}  // namespace afore::placement::director
