#include "fit/power_law.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "util/error.h"
#include "util/fmath.h"

namespace afore::fit {
namespace {

// Inverse of the distribution function of a density x^-alpha on [least, most].
std::vector<double> draw_weights(const ExpertLoad& load, Rng& rng) {
  const bool dense = load.tokens * load.top_k > load.experts;
  const double least = dense ? 1 : 0.01, most = dense ? 0.8 * static_cast<double>(load.tokens) : 2;
  const double power = 1 - load.alpha;
  const double low = fmath::pow(least, power), high = fmath::pow(most, power);
  std::vector<double> weights(load.experts);
  for (double& weight : weights) weight = fmath::pow(low + (high - low) * rng.uniform(), 1 / power);
  return weights;
}

// Experts by load, largest first, equal ones in random order.
std::vector<int> by_load(const std::vector<std::int64_t>& loads, Rng& rng) {
  std::vector<int> order(loads.size());
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return loads[a] > loads[b]; });
  return order;
}

// Rounding leaves a few assignments too many or too few: given to the largest, taken from the smallest in turn.
void make_sum(std::vector<std::int64_t>& loads, std::int64_t sum, Rng& rng) {
  std::int64_t missing = sum - std::accumulate(loads.begin(), loads.end(), std::int64_t{0});
  if (missing == 0) return;
  const std::vector<int> order = by_load(loads, rng);
  const std::size_t n = order.size();
  for (std::size_t i = 0; missing > 0; ++i, --missing) ++loads[order[i % n]];
  for (std::size_t i = 0; missing < 0; ++i, ++missing) {
    std::int64_t& smallest = loads[order[n - 1 - i % n]];
    if (smallest > 0) --smallest;
    else --*std::max_element(loads.begin(), loads.end());
  }
}

}  // namespace

std::vector<std::int64_t> draw_power_law(const ExpertLoad& load, Rng& rng) {
  AFORE_CHECK(load.kind == ExpertLoad::Kind::power_law && load.alpha != 1, "not a power law that can be drawn");
  const std::vector<double> weights = draw_weights(load, rng);
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  const auto sum = load.tokens * load.top_k;
  std::vector<std::int64_t> loads(weights.size());
  for (std::size_t e = 0; e < loads.size(); ++e) loads[e] = std::llround(weights[e] / total * static_cast<double>(sum));
  make_sum(loads, sum, rng);
  auto most_loaded = loads.begin();
  std::int64_t most = -1;
  for (auto first = loads.begin(); first < loads.end(); first += load.local_experts) {
    const std::int64_t here = std::accumulate(first, first + load.local_experts, std::int64_t{0});
    if (here > most) most = here, most_loaded = first;
  }
  return {most_loaded, most_loaded + load.local_experts};
}

}  // namespace afore::fit
