#include "device/cpu/sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

#include "util/rng.h"

namespace afore::device::cpu {
namespace {

std::vector<float> some_logits(std::size_t count, double deviation) {
  Rng rng(1);
  std::vector<float> logits(count);
  for (float& l : logits) l = static_cast<float>(deviation * rng.normal());
  return logits;
}

TEST(CpuSample, GreedyIsTheFirstOfTheLargest) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(sample(std::vector<float>{1, 3, 2, 3}, {}, 0), 1);
  EXPECT_EQ(sample(std::vector<float>{nan, -1, -2}, {}, 0), 1);
  EXPECT_EQ(sample(std::vector<float>{-inf, -inf}, {}, 0), 0);
  std::vector<float> logits(100, -5.0f);
  for (const int at : {0, 15, 16, 40, 96, 99}) {
    std::vector<float> one = logits;
    one[at] = -4;
    EXPECT_EQ(sample(one, {}, 7), at);
  }
}

TEST(CpuSample, TheSamePlaceGivesTheSameToken) {
  const std::vector<float> logits = some_logits(1000, 1);
  std::set<int> by_index, by_seed;
  for (std::uint64_t i = 0; i < 50; ++i) {
    const int token = sample(logits, {1, 1, 5}, i);
    sample(some_logits(30, 2), {0.5, 0.9, 6}, i);  // another request in between
    EXPECT_EQ(sample(logits, {1, 1, 5}, i), token);
    by_index.insert(token);
    by_seed.insert(sample(logits, {1, 1, i}, 3));
  }
  EXPECT_GT(by_index.size(), 25u);
  EXPECT_GT(by_seed.size(), 25u);
}

// How often each of few tokens is drawn, beside its probability: within five deviations.
void expect_shares(const std::vector<float>& logits, const SamplingOptions& options,
                   const std::vector<double>& shares) {
  constexpr int kDraws = 40'000;
  std::vector<int> drawn(logits.size());
  for (int i = 0; i < kDraws; ++i) ++drawn[sample(logits, options, static_cast<std::uint64_t>(i))];
  for (std::size_t t = 0; t < logits.size(); ++t)
    EXPECT_NEAR(drawn[t], kDraws * shares[t], 5 * std::sqrt(kDraws * shares[t] * (1 - shares[t])) + 1e-9) << t;
}

TEST(CpuSample, DrawsByTheSoftmaxWithTemperature) {
  const std::vector<float> logits = {0, 1, -1, 2, 0.5f};
  for (const double temperature : {0.5, 1.0, 3.0}) {
    std::vector<double> shares;
    for (const float l : logits) shares.push_back(std::exp(l / temperature));
    const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
    for (double& share : shares) share /= sum;
    expect_shares(logits, {temperature, 1, 9}, shares);
  }
}

TEST(CpuSample, TopPKeepsTheFewestThatReachIt) {
  // Probabilities 0.4, 0.1, 0.3, 0.1, 0.1.
  std::vector<float> logits;
  for (const double p : {0.4, 0.1, 0.3, 0.1, 0.1}) logits.push_back(static_cast<float>(std::log(p)));
  expect_shares(logits, {1, 0.1, 2}, {1, 0, 0, 0, 0});
  expect_shares(logits, {1, 0.5, 2}, {4.0 / 7, 0, 3.0 / 7, 0, 0});
  expect_shares(logits, {1, 0.75, 2}, {0.5, 0.125, 0.375, 0, 0});  // of equal ones the lowest id
  expect_shares(logits, {1, 0.85, 2}, {4.0 / 9, 1.0 / 9, 3.0 / 9, 1.0 / 9, 0});
}

TEST(CpuSample, TopPOfManyTokensAgreesWithASort) {
  for (const double deviation : {0.0, 0.01, 1.0, 4.0}) {
    const std::vector<float> logits = some_logits(5000, deviation);
    std::vector<int> order(logits.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return logits[a] > logits[b]; });
    double total = 0;
    for (const float l : logits) total += std::exp(static_cast<double>(l));
    for (const double top_p : {0.01, 0.3, 0.9}) {
      std::set<int> kept;
      double sum = 0;
      for (const int token : order) {
        if (sum >= top_p * total * (1 + 1e-12)) break;
        sum += std::exp(static_cast<double>(logits[token]));
        kept.insert(token);
      }
      std::set<int> drawn;
      for (std::uint64_t i = 0; i < 300; ++i) drawn.insert(sample(logits, {1, top_p, 3}, i));
      EXPECT_TRUE(std::ranges::includes(kept, drawn)) << deviation << " " << top_p;
    }
  }
}

TEST(CpuSample, WhatCannotBeIsNeverDrawn) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> logits = {-inf, 0, -2000, 0, -inf};
  for (std::uint64_t i = 0; i < 200; ++i)
    for (const double top_p : {0.9, 1.0}) {
      const int token = sample(logits, {1, top_p, 4}, i);
      EXPECT_TRUE(token == 1 || token == 3) << token;
    }
  EXPECT_EQ(sample(std::vector<float>{1, 2, 0}, {1, 0, 1}, 1), 1);     // top_p 0 leaves one
  EXPECT_EQ(sample(std::vector<float>{1, 2, 0}, {1e-9, 1, 1}, 1), 1);  // hardly any temperature
  EXPECT_EQ(sample(std::vector<float>{7}, {1, 0.5, 1}, 1), 0);
}

}  // namespace
}  // namespace afore::device::cpu
