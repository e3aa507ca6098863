#include "kernels/sample.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/exact_exp.h"
#include "memory.h"
#include "support.h"

namespace afore::kernels {
namespace {

struct Result {
  std::vector<std::int32_t> tokens;
  std::int32_t not_finite = 0;
  bool operator==(const Result&) const = default;
};

using Sampler = void (*)(const float*, const SampleRow*, std::int32_t, std::int32_t, std::int32_t*, std::int32_t*);

void on_device(const float* logits, const SampleRow* options, std::int32_t rows, std::int32_t vocab,
               std::int32_t* tokens, std::int32_t* not_finite) {
  sample(logits, options, rows, vocab, tokens, not_finite, nullptr);
}

Result run(Sampler sampler, const std::vector<float>& logits, const std::vector<SampleRow>& options) {
  const Memory<float> rows = logits;
  Memory<std::int32_t> tokens(options.size(), -7), not_finite(1);
  sampler(rows.data(), options.data(), static_cast<std::int32_t>(options.size()),
          static_cast<std::int32_t>(logits.size() / options.size()), tokens.data(), not_finite.data());
  return {tokens.values(), not_finite[0]};
}

void expect_as_twin(const std::vector<float>& logits, const std::vector<SampleRow>& options) {
  const Result expected = run(twin::sample, logits, options);
  EXPECT_EQ(run(on_device, logits, options).tokens, expected.tokens);
  EXPECT_EQ(expected.not_finite, 0);
}

const std::vector<float> kTopP = {-1, 0, 0x1p-30f, 0.01f, 0.3f, 0.5f, 0.9f, 0.999f, 0x1.fffffep-1f, 1, 2};
const std::vector<float> kUniform = {0x1p-60f, 0.5f, 0x1.fffffep-1f};

std::vector<SampleRow> all_options(float temperature) {
  std::vector<SampleRow> options;
  for (const float top_p : kTopP)
    for (const float uniform : kUniform) options.push_back({temperature, top_p, uniform});
  return options;
}

// As many rows of the same logits as there are options.
std::vector<float> repeated(const std::vector<float>& row, std::size_t times) {
  std::vector<float> all;
  for (std::size_t r = 0; r < times; ++r) all.insert(all.end(), row.begin(), row.end());
  return all;
}

TEST(Sample, IsTheTwinsForEveryOption) {
  for (const std::size_t vocab : {1u, 2u, 33u, 511u, 513u}) {
    SCOPED_TRACE(vocab);
    const std::vector<SampleRow> options = all_options(vocab % 2 ? 0.3f : 1.5f);
    expect_as_twin(repeated(random_floats(vocab, vocab, 6), options.size()), options);
  }
}

TEST(Sample, IsTheTwinsUnderEverySchedule) {
  const std::vector<SampleRow> options = {{0, 1, 0},          {1, 1, 0.3f},      {1, 0.9f, 0.999f},
                                          {0.5f, 0.5f, 0.6f}, {2, 0.99f, 0.01f}, {-1, 0.5f, 0.2f}};
  const std::vector<float> logits = random_floats(2100 * options.size(), 41, 8);
  for_schedules([&] { expect_as_twin(logits, options); });
}

// Logits of few values, so that top_p ends among equal ones: the lower ids stay.
TEST(Sample, EqualWeightsGoByTheLowerId) {
  std::vector<float> row = random_floats(1500, 42, 1);
  for (float& logit : row) logit = std::round(logit * 2) / 2;
  const std::vector<SampleRow> options = all_options(0.8f);
  const std::vector<float> logits = repeated(row, options.size());
  expect_as_twin(logits, options);
  const std::vector<float> equal = repeated(std::vector<float>(600, -3), options.size());
  expect_as_twin(equal, options);
}

TEST(Sample, WorkedByHand) {
  // Probabilities 1/2, 1/4, 1/4 (and ln 2 is not exact, so that 0.75 needs both kinds).
  const float ln2 = std::log(2.0f);
  const std::vector<float> logits = repeated({-ln2, 0, -ln2}, 6);
  const Result got =
      run(on_device, logits,
          {{1, 0.4f, 0.99f}, {1, 0.7f, 0.1f}, {1, 0.7f, 0.99f}, {1, 1, 0.2f}, {1, 1, 0.7f}, {1, 1, 0.8f}});
  EXPECT_EQ(got.tokens, (std::vector<std::int32_t>{1, 0, 1, 0, 1, 2}));
  EXPECT_EQ(got.not_finite, 0);
}

TEST(Sample, GreedyTakesTheLowestOfEqualOnes) {
  for (const std::size_t at : {0u, 5u, 31u, 32u, 511u, 512u, 999u}) {
    std::vector<float> row(1000, -2);
    for (std::size_t i = at; i < row.size(); i += 97) row[i] = 1;
    EXPECT_EQ(run(on_device, row, {{0, 0.5f, 0.9f}}).tokens[0], static_cast<std::int32_t>(at));
  }
}

TEST(Sample, ManyTinyWeightsCount) {
  // Each of 3,000 is e^-20 of the likeliest: 8 units of 2^-32; and e^-40 is none at all.
  std::vector<float> row(6000, -20);
  for (std::size_t i = 0; i < row.size(); i += 2) row[i] = -40;
  row[3000] = 0;
  const std::vector<SampleRow> options = {{1, 1, 0},    {1, 1, 0x1p-31f},       {1, 1, 0x1.fffffep-1f},
                                          {1, 0.5f, 0}, {1, 0x1.fffffep-1f, 0}, {1, 0x1.fffffep-1f, 0x1.fffffep-1f}};
  expect_as_twin(repeated(row, options.size()), options);
}

// Weights 2^32, a second of about 4,000 and ones that make 4,096 or 4,097 with it. Times 1 - 2^-20 all are a little
// less than 2^32, which the first alone reaches, or than 2^32 + 1, for which the second is needed.
TEST(Sample, TopPIsReachedExactlyAndNoTokenSooner) {
  const float second = -13.87f, one = -22;
  ASSERT_EQ(static_cast<int>(exact_exp(one) * 0x1p32f), 1);
  const int rest = 4096 - static_cast<int>(exact_exp(second) * 0x1p32f);
  ASSERT_GT(rest, 0);
  const std::vector<SampleRow> options = {{1, 1 - 0x1p-20f, 0}, {1, 1 - 0x1p-20f, 1 - 0x1p-24f}};
  for (const bool both : {false, true}) {
    std::vector<float> row(static_cast<std::size_t>(rest + both + 2), one);
    const std::int32_t last = static_cast<std::int32_t>(row.size()) - 1;
    row.front() = 0;
    row.back() = second;
    for_schedules([&] {
      EXPECT_EQ(run(on_device, repeated(row, 2), options).tokens, (std::vector<std::int32_t>{0, both ? last : 0}));
    });
    std::swap(row.front(), row.back());
    for_schedules([&] {
      EXPECT_EQ(run(on_device, repeated(row, 2), options).tokens, (std::vector<std::int32_t>{both ? 0 : last, last}));
    });
    expect_as_twin(repeated(row, 2), options);
  }
}

TEST(Sample, NotFiniteIsSaid) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const float bad : {inf, -inf, nan})
    for (const std::size_t at : {0u, 599u})
      for (const float temperature : {0.0f, 1.0f}) {
        std::vector<float> logits = random_floats(3 * 600, 43, 2);
        logits[600 + at] = bad;
        const std::vector<SampleRow> options(3, {temperature, 0.9f, 0.5f});
        const Result got = run(on_device, logits, options);
        EXPECT_EQ(got, run(twin::sample, logits, options));
        EXPECT_EQ(got.not_finite, 1);
      }
  EXPECT_EQ(run(on_device, std::vector<float>(700, nan), {{1, 0.5f, 0.5f}}).tokens[0], 0);
}

TEST(Sample, DoesNotDependOnTheBatch) {
  const std::vector<SampleRow> options = {{1, 0.8f, 0.7f}, {0, 1, 0}, {0.7f, 1, 0.3f}, {1.2f, 0.95f, 0.9f}};
  const std::size_t vocab = 900;
  const std::vector<float> logits = random_floats(vocab * options.size(), 44, 4);
  const Result all = run(on_device, logits, options);
  for (std::size_t r = 0; r < options.size(); ++r) {
    const std::vector<float> row(logits.begin() + static_cast<std::ptrdiff_t>(r * vocab),
                                 logits.begin() + static_cast<std::ptrdiff_t>((r + 1) * vocab));
    EXPECT_EQ(run(on_device, row, {options[r]}).tokens[0], all.tokens[r]);
  }
}

TEST(Sample, TakesAVocabularyOf256k) {
  const std::vector<float> logits = random_floats(262144, 45, 10);
  for (const float top_p : {0.9f, 1.0f}) expect_as_twin(logits, {{1, top_p, 0.87f}});
  expect_as_twin(std::vector<float>(262144, 5), {{1, 0.999f, 0x1.fffffep-1f}});  // all equal: the largest sums
}

TEST(Sample, NoRowsAreNoLaunch) { sample(nullptr, nullptr, 0, 5, nullptr, nullptr, nullptr); }

}  // namespace
}  // namespace afore::kernels
