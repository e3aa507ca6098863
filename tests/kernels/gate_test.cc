#include "kernels/gate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "memory.h"
#include "support.h"

namespace afore::kernels {
namespace {

struct Choice {
  Memory<std::int32_t> ids;
  Memory<float> weights;
  Memory<std::int32_t> not_finite{1};
  Choice(const GateRule& rule, std::int32_t tokens)
      : ids(static_cast<std::size_t>(tokens * rule.top_k), -7),
        weights(static_cast<std::size_t>(tokens * rule.top_k), -7) {}
};

std::size_t size_of(std::int64_t tokens, std::int64_t columns) { return static_cast<std::size_t>(tokens * columns); }

void expect_twins_choice(const GateRule& rule, const std::vector<float>& logits, const std::vector<float>& bias) {
  const auto tokens = static_cast<std::int32_t>(logits.size()) / rule.experts;
  const Memory<float> in(logits), in_bias(bias);
  const float* bias_or_null = bias.empty() ? nullptr : in_bias.data();
  Choice expected(rule, tokens);
  twin::gate(rule, in.data(), bias_or_null, tokens, expected.ids.data(), expected.weights.data(),
             expected.not_finite.data());
  for_schedules([&] {
    Choice out(rule, tokens);
    gate(rule, in.data(), bias_or_null, tokens, out.ids.data(), out.weights.data(), out.not_finite.data(), nullptr);
    EXPECT_EQ(out.ids.values(), expected.ids.values());
    EXPECT_TRUE(same_bytes(out.weights, expected.weights));
    EXPECT_EQ(out.not_finite[0], expected.not_finite[0]);
  });
}

TEST(Gate, ChoosesAsItsTwin) {
  const GateRule rules[] = {
      {.sigmoid = true, .experts = 128, .top_k = 8, .scaling = 2.5f},
      {.sigmoid = true, .experts = 256, .top_k = 8, .groups = 8, .top_groups = 4, .scaling = 2.5f},
      {.sigmoid = true, .experts = 24, .top_k = 3, .groups = 8, .top_groups = 3, .normalize = false},
      {.sigmoid = true, .experts = 40, .top_k = 4, .groups = 40, .top_groups = 7},
      {.sigmoid = true, .experts = 80, .top_k = 5, .groups = 2, .top_groups = 1},
      {.experts = 8, .top_k = 2},
      {.experts = 512, .top_k = 10},
      {.experts = 100, .top_k = 32, .normalize = false, .scaling = 0.5f},
      {.experts = 1024, .top_k = 1},
      {.experts = 1, .top_k = 1},
  };
  Numbers numbers(1);
  for (const GateRule& rule : rules)
    for (const std::int32_t tokens : {0, 1, 4, 7}) {
      SCOPED_TRACE(testing::Message() << rule.experts << " experts, " << tokens << " tokens");
      expect_twins_choice(rule, numbers.floats(size_of(tokens, rule.experts), 4), {});
      expect_twins_choice(rule, numbers.floats(size_of(tokens, rule.experts), 4),
                          numbers.floats(size_of(1, rule.experts)));
    }
}

// Experts whose scores that choose are equal go by number: here every score is one of three.
TEST(Gate, TakesTheLowerOfEquals) {
  Numbers numbers(2);
  std::vector<float> logits(9 * 96);
  for (float& logit : logits) logit = static_cast<float>(numbers.below(3));
  expect_twins_choice({.sigmoid = true, .experts = 96, .top_k = 8}, logits, {});
  expect_twins_choice({.sigmoid = true, .experts = 96, .top_k = 8, .groups = 8, .top_groups = 2}, logits, {});
  expect_twins_choice({.experts = 96, .top_k = 8}, logits, {});
}

// The twin's rule worked by hand: 4 groups of 2, of which the two best by the sum of their best two.
TEST(Gate, GroupsCountByTheirTwoBest) {
  const GateRule rule{.sigmoid = true, .experts = 12, .top_k = 3, .groups = 4, .top_groups = 2, .scaling = 3};
  std::vector<float> logits(12, -50), bias(12, 0);
  logits[0] = 0, bias[0] = 10;                             // group 0: 10.5 alone
  logits[3] = logits[5] = 0, bias[3] = 6, bias[5] = 7;     // group 1: 6.5 + 7.5
  logits[6] = logits[7] = 0, bias[6] = 5, bias[7] = 5.1f;  // group 2: 5.5 + 5.6
  bias[9] = 9;                                             // group 3: 9 and little more
  Choice out(rule, 1);
  gate(rule, logits.data(), bias.data(), 1, out.ids.data(), out.weights.data(), out.not_finite.data(), nullptr);
  EXPECT_EQ(out.ids.values(), (std::vector<std::int32_t>{5, 3, 7}));
  EXPECT_EQ(out.weights.values(), std::vector<float>(3, 0.5f / 1.5f * 3));
  expect_twins_choice(rule, logits, bias);
}

TEST(Gate, SoftmaxOfOneLargeLogit) {
  const GateRule rule{.experts = 4, .top_k = 2, .normalize = false};
  const std::vector<float> logits = {0, std::log(2.0f), 0, std::log(4.0f)};
  Choice out(rule, 1);
  gate(rule, logits.data(), nullptr, 1, out.ids.data(), out.weights.data(), out.not_finite.data(), nullptr);
  EXPECT_EQ(out.ids.values(), (std::vector<std::int32_t>{3, 1}));
  EXPECT_FLOAT_EQ(out.weights[0], 0.5f);
  EXPECT_FLOAT_EQ(out.weights[1], 0.25f);
  EXPECT_EQ(out.not_finite[0], 0);
}

// Ids stay different and in range, and the flag is set, wherever the number that is none stands.
TEST(Gate, SaysWhatIsNotFinite) {
  Numbers numbers(3);
  for (const GateRule& rule : {GateRule{.sigmoid = true, .experts = 64, .top_k = 8, .groups = 4, .top_groups = 2},
                               GateRule{.experts = 64, .top_k = 8}})
    for (const float bad : {kNaN, kInfinity, -kInfinity}) {
      for (const std::size_t at : {0, 40, 63, 64 + 63}) {
        std::vector<float> logits = numbers.floats(2 * 64);
        logits[at] = bad;
        Choice out(rule, 2);
        gate(rule, logits.data(), nullptr, 2, out.ids.data(), out.weights.data(), out.not_finite.data(), nullptr);
        EXPECT_EQ(out.not_finite[0], 1);
        Choice expected(rule, 2);
        twin::gate(rule, logits.data(), nullptr, 2, expected.ids.data(), expected.weights.data(),
                   expected.not_finite.data());
        EXPECT_EQ(out.ids.values(), expected.ids.values());
        EXPECT_EQ(expected.not_finite[0], 1);
      }
      const std::vector<float> logits(64, bad);
      Choice out(rule, 1);
      gate(rule, logits.data(), nullptr, 1, out.ids.data(), out.weights.data(), out.not_finite.data(), nullptr);
      EXPECT_EQ(out.not_finite[0], 1);
      std::vector<std::int32_t> first(8);
      std::iota(first.begin(), first.end(), 0);
      EXPECT_EQ(out.ids.values(), first);
    }
}

// Groups without room for all: the rest are expert 0, as in the twin, and nothing is out of range.
TEST(Gate, MoreChosenThanCompete) {
  Numbers numbers(4);
  expect_twins_choice({.sigmoid = true, .experts = 64, .top_k = 8, .groups = 32, .top_groups = 2},
                      numbers.floats(3 * 64), {});
}

void expect_twins_sort(const std::vector<std::int32_t>& ids, std::int32_t experts) {
  const auto pairs = static_cast<std::int32_t>(ids.size());
  const Memory<std::int32_t> in(ids);
  std::vector<std::int32_t> counts(static_cast<std::size_t>(experts)), begin(static_cast<std::size_t>(experts) + 1),
      sorted(ids.size());
  twin::demand_histogram(in.data(), pairs, experts, counts.data());
  twin::sort_pairs(in.data(), pairs, experts, counts.data(), begin.data(), sorted.data());
  for_schedules([&] {
    Memory<std::int32_t> out_counts(counts.size(), -7), out_begin(begin.size(), -7), out_sorted(sorted.size(), -7);
    demand_histogram(in.data(), pairs, experts, out_counts.data(), nullptr);
    EXPECT_EQ(out_counts.values(), counts);
    sort_pairs(in.data(), pairs, experts, out_counts.data(), out_begin.data(), out_sorted.data(), nullptr);
    EXPECT_EQ(out_begin.values(), begin);
    EXPECT_EQ(out_sorted.values(), sorted);
  });
}

TEST(Demand, CountsAndSortsAsItsTwin) {
  Numbers numbers(5);
  for (const std::int32_t experts : {1, 3, 33})
    for (const std::int32_t pairs : {0, 1, 8, 255, 256, 257, 2049}) {
      std::vector<std::int32_t> ids(static_cast<std::size_t>(pairs));
      for (std::int32_t& id : ids) id = numbers.below(experts);
      SCOPED_TRACE(testing::Message() << experts << " experts, " << pairs << " pairs");
      expect_twins_sort(ids, experts);
    }
}

TEST(Demand, AllOfOneExpertAndNoneOfOthers) {
  expect_twins_sort(std::vector<std::int32_t>(700, 5), 9);
  expect_twins_sort(std::vector<std::int32_t>(3, 299), 300);
}

TEST(Demand, CountsAsManyExpertsAsThereMayBe) {
  std::vector<std::int32_t> ids(2000), expected(kMostExperts);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i * 7 % kMostExperts);
  twin::demand_histogram(ids.data(), 2000, kMostExperts, expected.data());
  for_schedules([&] {
    Memory<std::int32_t> counts(kMostExperts, -7);
    demand_histogram(ids.data(), 2000, kMostExperts, counts.data(), nullptr);
    EXPECT_EQ(counts.values(), expected);
  });
}

// So many pairs that several blocks count them, the last one with a few.
TEST(Demand, CountsWhatSeveralBlocksHave) {
  Numbers numbers(6);
  std::vector<std::int32_t> ids(2 * 32768 + 77);
  for (std::int32_t& id : ids) id = numbers.below(3);
  expect_twins_sort(ids, 3);
}

TEST(Demand, OfAsManyPairsAsThereMayBe) {
  std::vector<std::int32_t> ids(1 << 22);
  Numbers numbers(7);
  for (std::int32_t& id : ids) id = numbers.below(2);
  const auto pairs = static_cast<std::int32_t>(ids.size());
  std::vector<std::int32_t> counts(2), begin(3), sorted(ids.size()), out_counts(2), out_begin(3),
      out_sorted(ids.size());
  twin::demand_histogram(ids.data(), pairs, 2, counts.data());
  twin::sort_pairs(ids.data(), pairs, 2, counts.data(), begin.data(), sorted.data());
  demand_histogram(ids.data(), pairs, 2, out_counts.data(), nullptr);
  sort_pairs(ids.data(), pairs, 2, out_counts.data(), out_begin.data(), out_sorted.data(), nullptr);
  EXPECT_EQ(out_counts, counts);
  EXPECT_EQ(out_begin, begin);
  EXPECT_TRUE(out_sorted == sorted);
}

}  // namespace
}  // namespace afore::kernels
