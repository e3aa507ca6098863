#include "device/cpu/gate.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <cmath>
#include <limits>
#include <vector>

#include "util/error.h"
#include "util/rng.h"

namespace afore::device::cpu {
namespace {

using Rule = nn::GateConfig::Rule;
using Ids = std::vector<std::int32_t>;

nn::GateConfig config(Rule rule, int experts, int top_k) {
  nn::GateConfig c;
  c.rule = rule;
  c.experts = experts;
  c.top_k = top_k;
  return c;
}

struct Choice {
  Ids ids;
  std::vector<float> weights;
};

Choice choose(const nn::GateConfig& c, const std::vector<float>& logits, const std::vector<float>& bias = {}) {
  Choice choice{Ids(c.top_k), std::vector<float>(c.top_k)};
  gate_token(c, logits, bias, choice.ids, choice.weights);
  return choice;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

void expect_weights(const Choice& choice, const std::vector<double>& expected) {
  ASSERT_EQ(choice.weights.size(), expected.size());
  for (std::size_t k = 0; k < expected.size(); ++k) EXPECT_NEAR(choice.weights[k], expected[k], 1e-6) << k;
}

TEST(CpuGate, SoftmaxOfAllThenTheBest) {
  // e^0, e^1, e^2, e^1: the lower of the two equal experts goes first.
  const double e = std::exp(1.0), sum = 1 + 2 * e + e * e;
  nn::GateConfig c = config(Rule::softmax, 4, 3);
  c.normalize = false;
  Choice choice = choose(c, {0, 1, 2, 1});
  EXPECT_EQ(choice.ids, (Ids{2, 1, 3}));
  expect_weights(choice, {e * e / sum, e / sum, e / sum});
  c.normalize = true;
  c.scaling = 2;
  choice = choose(c, {0, 1, 2, 1});
  expect_weights(choice, {2 * e / (e + 2), 2 / (e + 2), 2 / (e + 2)});
}

TEST(CpuGate, ABiasChoosesButDoesNotWeigh) {
  nn::GateConfig c = config(Rule::sigmoid_bias, 4, 2);
  c.scaling = 2.5;
  // Scores by sigmoid: expert 3 is the best, expert 0 the worst but for its bias.
  const Choice choice = choose(c, {-1, 0, 1, 2}, {1, 0, 0, 0});
  EXPECT_EQ(choice.ids, (Ids{0, 3}));
  const double sum = sigmoid(-1) + sigmoid(2);
  expect_weights(choice, {2.5 * sigmoid(-1) / sum, 2.5 * sigmoid(2) / sum});
  c.normalize = false;
  expect_weights(choose(c, {-1, 0, 1, 2}), {2.5 * sigmoid(2), 2.5 * sigmoid(1)});
}

TEST(CpuGate, OnlyTheBestGroupsCompete) {
  nn::GateConfig c = config(Rule::sigmoid_bias, 9, 3);
  c.groups = 3;
  c.top_groups = 2;
  // The best expert is alone in its group; the two best of the other groups together beat it.
  const Choice choice = choose(c, {9, -9, -9, 1, 1, 0, 0, 2, 1});
  EXPECT_EQ(choice.ids, (Ids{7, 3, 4}));
}

TEST(CpuGate, EqualGroupsGoByTheLowerId) {
  nn::GateConfig c = config(Rule::sigmoid_bias, 6, 2);
  c.groups = 3;
  c.top_groups = 1;
  EXPECT_EQ(choose(c, {0, 1, 1, 0, 0, 1}).ids, (Ids{1, 0}));
  // Biases that make every score negative do not let a group in that is out.
  EXPECT_EQ(choose(c, {0, 1, 1, 0, 0, 2}, {-9, -9, -9, -9, -8, -9}).ids, (Ids{4, 5}));
}

TEST(CpuGate, GroupsOfOneExpert) {
  nn::GateConfig c = config(Rule::sigmoid_bias, 3, 2);
  c.groups = 3;
  c.top_groups = 2;
  EXPECT_EQ(choose(c, {0, 2, 1}).ids, (Ids{1, 2}));
}

// Against sorting every expert.
TEST(CpuGate, AgreesWithASort) {
  Rng rng(1);
  for (int round = 0; round < 300; ++round) {
    nn::GateConfig c = config(round % 2 == 0 ? Rule::softmax : Rule::sigmoid_bias, 32, 4);
    std::vector<float> logits(32), bias(32);
    for (float& l : logits) l = static_cast<float>(rng.below(12)) / 4;  // with ties
    for (float& b : bias) b = static_cast<float>(rng.below(3));
    if (c.rule == Rule::softmax) bias.clear();
    Ids all(32);
    for (int e = 0; e < 32; ++e) all[e] = e;
    std::ranges::stable_sort(all, [&](int a, int b) {
      if (bias.empty()) return logits[a] > logits[b];
      return static_cast<float>(sigmoid(logits[a])) + bias[a] > static_cast<float>(sigmoid(logits[b])) + bias[b];
    });
    EXPECT_EQ(choose(c, logits, bias).ids, Ids(all.begin(), all.begin() + 4)) << round;
  }
}

TEST(CpuGate, WhatIsNotANumberStillGivesDifferentExperts) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Rule rule : {Rule::softmax, Rule::sigmoid_bias}) {
    const Choice choice = choose(config(rule, 4, 3), {nan, 1, nan, 2});
    EXPECT_NE(choice.ids[0], choice.ids[1]);
    EXPECT_NE(choice.ids[0], choice.ids[2]);
    EXPECT_NE(choice.ids[1], choice.ids[2]);
  }
}

TEST(CpuGate, AnotherSizeIsOurBug) {
  EXPECT_THROW(choose(config(Rule::softmax, 4, 2), {1, 2, 3}), Error);
  EXPECT_THROW(choose(config(Rule::sigmoid_bias, 2, 2), {1, 2}, {1}), Error);
}

TEST(CpuCombine, SumsInOrderTheSharedExpertLast) {
  constexpr std::int64_t n = 35;
  // In float32 the order shows: 2^25 + 1 is 2^25, and 2^25 + 3 is 2^25 + 4.
  const float big = 33554432;
  std::vector<float> y(3 * n), shared(n, 3), residual(n, 1), out(n);
  for (std::int64_t i = 0; i < n; ++i) {
    y[i] = big / 2;
    y[n + i] = 1;
    y[2 * n + i] = static_cast<float>(i);
  }
  const std::vector<float> weights = {2, 1, 0.5f};
  combine_exact(weights, y.data(), shared.data(), residual.data(), out.data(), n);
  for (std::int64_t i = 0; i < n; ++i) {
    const float routed = (2 * y[i] + 1 * y[n + i]) + 0.5f * y[2 * n + i];
    EXPECT_EQ(out[i], (1 + routed) + 3) << i;
  }
  combine_exact(weights, y.data(), nullptr, residual.data(), residual.data(), n);  // in place
  for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(residual[i], 1 + ((big + 1) + 0.5f * static_cast<float>(i))) << i;
}

}  // namespace
}  // namespace afore::device::cpu
