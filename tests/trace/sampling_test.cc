#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "trace/binomial.h"
#include "trace/count_sampler.h"
#include "util/error.h"

namespace afore::trace {
namespace {

double chi_square_limit(int degrees) { return degrees + 5 * std::sqrt(2.0 * degrees); }

// Compares drawn frequencies with the exact distribution, cells of small expectation pooled.
void expect_binomial(int n, double p, std::uint64_t seed) {
  constexpr int kDraws = 40'000;
  Rng rng(seed);
  BinomialSampler binomial;
  std::vector<int> hits(static_cast<std::size_t>(n) + 1);
  for (int i = 0; i < kDraws; ++i) ++hits.at(binomial.draw(rng, n, p));
  double chi = 0, pooled_expected = 0, pooled_hits = 0;
  int cells = -1;
  for (int k = 0; k <= n; ++k) {
    const double mass = std::exp(std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0) +
                                 k * std::log(p) + (n - k) * std::log1p(-p));
    pooled_expected += kDraws * mass;
    pooled_hits += hits[k];
    if (pooled_expected < 20) continue;
    chi += (pooled_hits - pooled_expected) * (pooled_hits - pooled_expected) / pooled_expected;
    pooled_expected = pooled_hits = 0;
    ++cells;
  }
  ASSERT_GT(cells, 0);
  EXPECT_LT(chi, chi_square_limit(cells)) << "n " << n << " p " << p;
}

TEST(Binomial, FollowsTheExactDistribution) {
  expect_binomial(20, 0.3, 1);      // inversion
  expect_binomial(1000, 0.004, 2);  // inversion, rare
  expect_binomial(30, 0.5, 3);      // rejection, smallest mean
  expect_binomial(40, 0.27, 4);
  expect_binomial(400, 0.06, 5);
  expect_binomial(900, 0.77, 6);  // mirrored
}

TEST(Binomial, MomentsOfLargeDraws) {
  Rng rng(7);
  BinomialSampler binomial;
  const std::int64_t n = 524'288;
  const double p = 0.0171;
  const int draws = 20'000;
  double sum = 0, squares = 0;
  for (int i = 0; i < draws; ++i) {
    const double deviation = static_cast<double>(binomial.draw(rng, n, p)) - n * p;
    sum += deviation;
    squares += deviation * deviation;
  }
  const double variance = n * p * (1 - p);
  EXPECT_NEAR(sum / draws, 0, 4 * std::sqrt(variance / draws));
  EXPECT_NEAR(squares / draws / variance, 1, 4 * std::sqrt(2.0 / draws));
}

TEST(Binomial, Edges) {
  Rng rng(8);
  BinomialSampler binomial;
  EXPECT_EQ(binomial.draw(rng, 0, 0.3), 0);
  EXPECT_EQ(binomial.draw(rng, 9, 0), 0);
  EXPECT_EQ(binomial.draw(rng, 9, 1), 9);
  EXPECT_EQ(binomial.draw(rng, 1'000'000, 1e-300), 0);
  EXPECT_THROW(binomial.draw(rng, 9, 1.5), Error);
}

// Draws depend on their arguments alone, not on what the sampler drew before.
TEST(Binomial, WhatIsKeptChangesNothing) {
  BinomialSampler shared;
  Rng shape(9), a(10), b(10);
  for (int i = 0; i < 3000; ++i) {
    const auto trials = static_cast<std::int64_t>(shape.below(i % 2 == 0 ? 9000 : 200'000));
    const double p = shape.uniform() * (i % 3 == 0 ? 0.01 : 1);
    BinomialSampler fresh;
    ASSERT_EQ(shared.draw(a, trials, p), fresh.draw(b, trials, p)) << trials << " " << p;
  }
}

std::int64_t sum_of(const std::vector<std::int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

TEST(CountSampler, SumsAndMoments) {
  std::vector<double> weights(256);
  for (int e = 0; e < 256; ++e) weights[e] = 1.0 + e % 7;
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  CountSampler sampler;
  sampler.set_weights(weights);
  Rng rng(11);
  const int draws = 400;
  std::vector<std::int64_t> counts(256);
  std::vector<double> sums(256);
  for (int i = 0; i < draws; ++i) {
    sampler.draw(rng, 4096, 8, counts);
    ASSERT_EQ(sum_of(counts), 4096 * 8);
    for (int e = 0; e < 256; ++e) sums[e] += static_cast<double>(counts[e]);
  }
  for (int e = 0; e < 256; ++e) {
    const double p = weights[e] / total, mean = 4096 * 8 * p;
    EXPECT_NEAR(sums[e] / draws, mean, 5 * std::sqrt(mean * (1 - p) / draws)) << e;
  }
}

TEST(CountSampler, NoCountExceedsTheTokens) {
  const std::vector<double> weights = {1000, 1, 1, 1};
  CountSampler sampler;
  sampler.set_weights(weights);
  Rng rng(12);
  std::vector<std::int64_t> counts(4);
  std::int64_t others = 0;
  for (int i = 0; i < 100; ++i) {
    sampler.draw(rng, 50, 2, counts);
    EXPECT_EQ(sum_of(counts), 100);
    EXPECT_EQ(counts[0], 50);  // wanted by nearly all 100 draws, may take 50
    others += counts[1];
  }
  EXPECT_NEAR(static_cast<double>(others) / 100, 50.0 / 3, 2);
}

TEST(CountSampler, FullAndZeroWeightExpertsTakeWhatMustGoSomewhere) {
  CountSampler sampler;
  Rng rng(13);
  std::vector<std::int64_t> counts(4);
  sampler.set_weights(std::vector<double>{1, 0, 0, 0});
  sampler.draw(rng, 30, 2, counts);
  EXPECT_EQ(counts[0], 30);
  EXPECT_EQ(sum_of(counts), 60);
  sampler.draw(rng, 30, 4, counts);
  EXPECT_EQ(counts, (std::vector<std::int64_t>{30, 30, 30, 30}));
  sampler.set_weights(std::vector<double>{1, 1, 0, 0});
  sampler.draw(rng, 30, 1, counts);
  EXPECT_EQ(counts[2] + counts[3], 0);  // weight 0 is never drawn while another has room
  EXPECT_THROW(sampler.set_weights(std::vector<double>{0, 0}), Error);
}

}  // namespace
}  // namespace afore::trace
