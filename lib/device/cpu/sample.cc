#include "device/cpu/sample.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "util/error.h"
#include "util/fmath.h"
#include "util/rng.h"
#include "util/scratch.h"

namespace afore::device::cpu {
namespace {

struct Candidates {
  std::vector<double> weight;  // of each token: its probability times a constant
  std::vector<std::int32_t> order;
};

int largest(std::span<const float> logits) {
  return static_cast<int>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

// In [0, 1), of the request's seed and the token's index alone.
double draw(std::uint64_t seed, std::uint64_t index) {
  char label[sizeof(index)];
  for (char& byte : label) {
    byte = static_cast<char>(index & 0xff);
    index >>= 8;
  }
  return Rng(seed, {label, sizeof(label)}).uniform();
}

// Sorts as many of the likeliest to the front as it takes for their weights to reach `wanted`; how many that is, and
// their sum.
std::size_t likeliest(Candidates& c, double wanted, double& sum) {
  constexpr std::size_t kFirstBatch = 64;
  const auto before = [&](std::int32_t a, std::int32_t b) {
    return c.weight[a] != c.weight[b] ? c.weight[a] > c.weight[b] : a < b;
  };
  sum = 0;
  std::size_t sorted = 0;
  for (std::size_t batch = kFirstBatch; sorted < c.order.size(); batch *= 8) {
    const std::size_t end = std::min(sorted + batch, c.order.size());
    if (end < c.order.size()) std::nth_element(c.order.begin() + sorted, c.order.begin() + end, c.order.end(), before);
    std::sort(c.order.begin() + sorted, c.order.begin() + end, before);
    for (; sorted < end; ++sorted) {
      sum += c.weight[c.order[sorted]];
      if (sum >= wanted) return sorted + 1;
    }
  }
  return sorted;
}

}  // namespace

int sample(std::span<const float> logits, const SamplingOptions& options, std::uint64_t index) {
  AFORE_CHECK(!logits.empty(), "no token to choose");
  const int best = largest(logits);
  if (options.temperature <= 0) return best;
  Candidates& c = scratch<Candidates, struct SampleCandidates>();
  c.weight.resize(logits.size());
  double total = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    c.weight[i] =
        fmath::exp((static_cast<double>(logits[i]) - static_cast<double>(logits[best])) / options.temperature);
    total += c.weight[i];
  }
  const double u = draw(options.seed, index);
  if (options.top_p >= 1) {
    double left = u * total;
    for (std::size_t i = 0; i < logits.size(); ++i) {
      left -= c.weight[i];
      if (left < 0) return static_cast<int>(i);
    }
    return best;  // rounding left a little
  }
  c.order.resize(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i) c.order[i] = static_cast<std::int32_t>(i);
  double kept = 0;
  const std::size_t count = likeliest(c, options.top_p * total, kept);
  double left = u * kept;
  for (std::size_t i = 0; i < count; ++i) {
    left -= c.weight[c.order[i]];
    if (left < 0) return c.order[i];
  }
  return best;
}

}  // namespace afore::device::cpu
