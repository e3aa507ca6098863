#include "advice/mean_demand.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/placement.h"
#include "util/error.h"

namespace afore::advice {

std::vector<double> shares_of(std::span<const std::int64_t> counts) {
  double sum = 0;
  for (const std::int64_t count : counts) sum += static_cast<double>(count);
  std::vector<double> shares(counts.size(), 1 / static_cast<double>(std::max<std::size_t>(1, counts.size())));
  if (sum > 0)
    for (std::size_t e = 0; e < counts.size(); ++e) shares[e] = static_cast<double>(counts[e]) / sum;
  return shares;
}

void apportion(std::span<const double> shares, std::int64_t tokens, std::int64_t top_k,
               std::vector<std::int64_t>& counts) {
  AFORE_CHECK(top_k <= static_cast<std::int64_t>(shares.size()), "more experts per token than there are");
  counts.assign(shares.size(), 0);
  const double all = static_cast<double>(tokens * top_k);
  std::int64_t left = tokens * top_k;
  std::vector<double> rest(shares.size());
  for (std::size_t e = 0; e < shares.size(); ++e) {
    const double wanted = shares[e] * all;
    counts[e] = std::min(tokens, static_cast<std::int64_t>(std::floor(wanted)));
    rest[e] = wanted - static_cast<double>(counts[e]);
    left -= counts[e];
  }
  std::vector<std::size_t> order(shares.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return rest[a] > rest[b]; });
  // Shares of a sum of 1 leave less than one each but where experts are full; then several rounds are needed.
  while (left > 0) {
    std::int64_t room = 0;
    for (const std::size_t e : order) room += counts[e] < tokens ? 1 : 0;
    AFORE_CHECK(room > 0, "no expert has room");
    const std::int64_t each = std::max<std::int64_t>(1, left / room);
    for (const std::size_t e : order) {
      const std::int64_t more = std::min({each, tokens - counts[e], left});
      counts[e] += more;
      left -= more;
    }
  }
  AFORE_CHECK(left == 0, "more was shared out than there is");
}

double imbalance_of(std::span<const double> shares, int workers) {
  std::vector<double> loads(workers, 0);
  for (std::size_t e = 0; e < shares.size(); ++e)
    loads[initial_primary(static_cast<int>(e), static_cast<int>(shares.size()), workers)] += shares[e];
  return *std::max_element(loads.begin(), loads.end()) * workers;
}

}  // namespace afore::advice
