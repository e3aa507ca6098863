#pragma once
// The demand of a batch that does not exist, in the proportions of one that does: each layer's share of assignments by
// expert, and counts of any number of tokens with those shares.
#include <cstdint>
#include <span>
#include <vector>

namespace afore::advice {

// Shares of one layer; equal ones where nothing was added. Sum 1.
std::vector<double> shares_of(std::span<const std::int64_t> counts);

// tokens * top_k assignments by largest remainder, lower index first; no expert has more than `tokens`, and what one
// would have beyond goes to the next by remainder. Needs top_k <= number of experts.
void apportion(std::span<const double> shares, std::int64_t tokens, std::int64_t top_k,
               std::vector<std::int64_t>& counts);

// The busiest worker's share over the mean, under the initial placement.
double imbalance_of(std::span<const double> shares, int workers);

}  // namespace afore::advice
