#include "trace/binomial.h"

#include <bit>
#include <cmath>

#include "util/error.h"
#include "util/fmath.h"

namespace afore::trace {
namespace {

constexpr double kInversionMean = 10;
constexpr std::int64_t kKeptFactorials = std::int64_t{1} << 16;
constexpr double kRoughLogError = 1e-8;

// log(x) within half of kRoughLogError, for normal x > 0: x = 2^k m with m in [sqrt(1/2), sqrt(2)), and the first five
// terms of log m = 2 atanh((m - 1) / (m + 1)); the next one is below 1e-9.
double rough_log(double x) {
  constexpr std::uint64_t kRootHalf = std::bit_cast<std::uint64_t>(0.70710678118654752440);
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const auto k = static_cast<std::int64_t>(bits - kRootHalf) >> 52;
  const double m = std::bit_cast<double>(bits - (static_cast<std::uint64_t>(k) << 52));
  const double s = (m - 1) / (m + 1);
  const double z = s * s;
  const double series = 2 + z * (2.0 / 3 + z * (2.0 / 5 + z * (2.0 / 7 + z * (2.0 / 9))));
  return static_cast<double>(k) * 0.69314718055994530942 + s * series;
}

// Walks up the distribution function; P(0) = (1-p)^n is at least e^-14 for p <= 1/2 and n p < 10.
std::int64_t invert(Rng& rng, std::int64_t n, double p) {
  const double odds = p / (1 - p);
  const double first = fmath::exp(static_cast<double>(n) * fmath::log1p(-p));
  for (;;) {
    double u = rng.uniform();
    double mass = first;
    for (std::int64_t k = 0; k <= n; ++k) {
      if (u < mass) return k;
      u -= mass;
      mass *= odds * static_cast<double>(n - k) / static_cast<double>(k + 1);
    }
    // Rounding left u beyond the whole mass: draw again.
  }
}

}  // namespace

double BinomialSampler::log_factorial(std::int64_t n) {
  if (n >= kKeptFactorials) return fmath::log_factorial(n);
  const auto at = static_cast<std::size_t>(n);
  if (at >= log_factorials_.size()) log_factorials_.resize(std::bit_ceil(at + 1), 0);
  double& kept = log_factorials_[at];
  if (kept == 0) kept = fmath::log_factorial(n);
  return kept;
}

// The paper's constants: a hat a/(1/2-|u|)^2 + b around the mode, and a box where no density is needed.
std::int64_t BinomialSampler::btrs(Rng& rng, std::int64_t trials, double p) {
  const auto n = static_cast<double>(trials);
  const double spread = std::sqrt(n * p * (1 - p));
  const double b = 1.15 + 2.53 * spread;
  const double a = -0.0873 + 0.0248 * b + 0.01 * p;
  const double centre = n * p + 0.5;
  const double box = 0.92 - 4.2 / b;
  const double alpha = (2.83 + 5.1 / b) * spread;
  for (;;) {
    const double u = rng.uniform() - 0.5;
    const double v = rng.uniform();
    const double us = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / us + b) * u + centre);
    if (us >= 0.07 && v <= box) return static_cast<std::int64_t>(k);
    if (!(k >= 0 && k <= n)) continue;
    const double mode = std::floor((n + 1) * p);
    const auto log_choose = [&](double x) {
      const auto i = static_cast<std::int64_t>(x);
      return -log_factorial(i) - log_factorial(trials - i);
    };
    const double shift = k - mode, constant = log_choose(k) - log_choose(mode);
    const double hat = v * alpha / (a / (us * us) + b), odds = p / (1 - p);
    // Accepted when log(hat) <= the logarithm of the density's ratio to that at the mode. Rough logarithms tell unless
    // it is close, so the draws are those of exact ones.
    const double rough_gap = constant + shift * rough_log(odds) - rough_log(hat);
    const double doubt = kRoughLogError * (2 + std::fabs(shift));
    if (v > 0 && rough_gap > doubt) return static_cast<std::int64_t>(k);
    if (v > 0 && rough_gap < -doubt) continue;
    if (fmath::log(hat) <= constant + shift * fmath::log(odds)) return static_cast<std::int64_t>(k);
  }
}

std::int64_t BinomialSampler::draw(Rng& rng, std::int64_t trials, double probability) {
  AFORE_CHECK(trials >= 0 && probability >= 0 && probability <= 1, "no binomial distribution");
  if (trials == 0 || probability == 0) return 0;
  if (probability == 1) return trials;
  if (probability > 0.5) return trials - draw(rng, trials, 1 - probability);
  return static_cast<double>(trials) * probability < kInversionMean ? invert(rng, trials, probability)
                                                                    : btrs(rng, trials, probability);
}

}  // namespace afore::trace
