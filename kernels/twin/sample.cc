#include "kernels/sample.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/exact_exp.h"

namespace afore::kernels::twin {
namespace {

// part * total, rounded down or up; part in steps of 2^-64.
std::uint64_t share_of(float part, std::uint64_t total, bool up) {
  const unsigned __int128 product = static_cast<unsigned __int128>(static_cast<std::uint64_t>(part * 0x1p64f)) * total;
  const std::uint64_t down = static_cast<std::uint64_t>(product >> 64);
  return up && static_cast<std::uint64_t>(product) != 0 ? down + 1 : down;
}

// Leaves the fewest likeliest weights, in order of the likeliest, that reach top_p; the others become 0.
std::uint64_t keep_likeliest(std::vector<std::uint64_t>& weights, float top_p, std::uint64_t total) {
  std::vector<std::int32_t> order(weights.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>(i);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) { return weights[a] > weights[b]; });
  const std::uint64_t wanted = top_p > 0 ? share_of(top_p, total, true) : 0;
  std::uint64_t sum = 0;
  bool first = true;
  for (const std::int32_t id : order) {
    if (sum >= wanted && !first) weights[id] = 0;
    sum += weights[id];
    first = false;
  }
  return sum;
}

std::int32_t choose(const float* logits, std::int32_t vocab, const SampleRow& option) {
  const std::int32_t best = static_cast<std::int32_t>(std::max_element(logits, logits + vocab) - logits);
  if (option.temperature <= 0) return best;
  std::vector<std::uint64_t> weights;
  std::uint64_t total = 0;
  for (std::int32_t i = 0; i < vocab; ++i) {
    const float weight = exact_exp((logits[i] - logits[best]) / option.temperature);
    weights.push_back(static_cast<std::uint64_t>(weight * 0x1p32f));
    total += weights.back();
  }
  if (option.top_p < 1) total = keep_likeliest(weights, option.top_p, total);
  const std::uint64_t draw = share_of(option.uniform, total, false);
  std::uint64_t sum = 0;
  for (std::int32_t i = 0; i < vocab; ++i)
    if ((sum += weights[i]) > draw) return i;
  return best;  // never: uniform is below 1
}

}  // namespace

void sample(const float* logits, const SampleRow* options, std::int32_t rows, std::int32_t vocab, std::int32_t* tokens,
            std::int32_t* not_finite) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* row = logits + r * vocab;
    const bool finite = std::all_of(row, row + vocab, [](float logit) { return std::isfinite(logit); });
    if (!finite) *not_finite = 1;
    tokens[r] = finite ? choose(row, vocab, options[r]) : 0;
  }
}

}  // namespace afore::kernels::twin
