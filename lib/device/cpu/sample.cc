#include "device/cpu/sample.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <vector>

#include "device/cpu/largest.h"
#include "device/draw.h"
#include "util/error.h"
#include "util/scratch.h"

namespace afore::device::cpu {
namespace {

struct Weights {
  std::vector<double> of;  // each token's probability times a constant, the likeliest's 1; 0 where top_p leaves it out
  std::vector<std::int32_t> undecided;
};

using Two = double __attribute__((vector_size(16)));
using TwoBits = std::uint64_t __attribute__((vector_size(16)));

// e^x for x <= 0, 0 below -700: fmath::exp without a branch, on two numbers at once.
Two exp_below_0(Two x) {
  constexpr double kLn2High = 6.93147180369123816490e-01, kLn2Low = 1.90821492927058770002e-10;
  constexpr double kRounder = 6755399441055744.0;  // 1.5 * 2^52: the sum's low bits are x / log 2, rounded
  const Two rounded = x * 1.44269504088896338700e+00 + kRounder;
  const Two n = rounded - kRounder;
  const Two r = (x - n * kLn2High) - n * kLn2Low;
  Two sum = r / 6227020800.0 + 1.0 / 479001600.0;
  sum = sum * r + 1.0 / 39916800.0;
  sum = sum * r + 1.0 / 3628800.0;
  sum = sum * r + 1.0 / 362880.0;
  sum = sum * r + 1.0 / 40320.0;
  sum = sum * r + 1.0 / 5040.0;
  sum = sum * r + 1.0 / 720.0;
  sum = sum * r + 1.0 / 120.0;
  sum = sum * r + 1.0 / 24.0;
  sum = sum * r + 1.0 / 6.0;
  sum = sum * r + 0.5;
  const Two power = (Two)(((TwoBits)rounded + 1023) << 52);
  const Two e = (1.0 + (r + r * r * sum)) * power;
  return (Two)((TwoBits)e & (TwoBits)(x >= -700.0));
}

// exp((logit - most) * factor) of every token.
void weigh(std::span<const float> logits, double most, double factor, std::vector<double>& weights) {
  weights.resize(logits.size() + 1);  // room for a last pair
  for (std::size_t i = 0; i < logits.size(); i += 2) {
    const std::size_t next = std::min(i + 1, logits.size() - 1);
    const Two x = {(logits[i] - most) * factor, (logits[next] - most) * factor};
    const Two e = exp_below_0(x);
    weights[i] = e[0];
    weights[i + 1] = e[1];
  }
  weights.resize(logits.size());
}

// Weights are told apart first by the upper bits of what they are below 1: eight kinds an octave.
constexpr int kKinds = 512;
int kind_of(double weight) {
  const std::uint64_t below = (std::bit_cast<std::uint64_t>(1.0) - std::bit_cast<std::uint64_t>(weight)) >> 49;
  return static_cast<int>(std::min<std::uint64_t>(below, kKinds - 1));
}

// Keeps the fewest likeliest tokens whose weights reach `wanted`, of equal ones the lower ids: all of the kinds that do
// not reach it yet, and of the kind that does, the likeliest.
void keep_likeliest(Weights& w, double wanted) {
  double of_kind[kKinds] = {};
  for (const double weight : w.of) of_kind[kind_of(weight)] += weight;
  double sum = 0;
  int last = 0;
  for (; last < kKinds - 1 && sum + of_kind[last] < wanted; ++last) sum += of_kind[last];
  w.undecided.clear();
  for (std::size_t i = 0; i < w.of.size(); ++i) {
    const int kind = kind_of(w.of[i]);
    if (kind > last) w.of[i] = 0;
    if (kind == last) w.undecided.push_back(static_cast<std::int32_t>(i));
  }
  std::sort(w.undecided.begin(), w.undecided.end(),
            [&](std::int32_t a, std::int32_t b) { return w.of[a] != w.of[b] ? w.of[a] > w.of[b] : a < b; });
  bool reached = false;
  for (const std::int32_t token : w.undecided) {
    if (reached) w.of[token] = 0;
    sum += w.of[token];
    reached = reached || sum >= wanted;
  }
}

}  // namespace

int sample(std::span<const float> logits, const SamplingOptions& options, std::uint64_t index) {
  AFORE_CHECK(!logits.empty(), "no token to choose");
  const int best = static_cast<int>(first_largest(logits));
  if (options.temperature <= 0) return best;
  Weights& w = scratch<Weights, struct SampleWeights>();
  weigh(logits, logits[best], 1 / options.temperature, w.of);
  double total = 0;
  for (const double weight : w.of) total += weight;
  if (options.top_p < 1) {
    keep_likeliest(w, options.top_p * total);
    total = 0;
    for (const double weight : w.of) total += weight;
  }
  double left = draw(options.seed, index) * total;
  for (std::size_t i = 0; i < w.of.size(); ++i) {
    left -= w.of[i];
    if (left < 0) return static_cast<int>(i);
  }
  return best;  // rounding left a little
}

}  // namespace afore::device::cpu
