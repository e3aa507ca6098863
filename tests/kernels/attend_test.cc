#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "bounds.h"
#include "guarded_scene.h"
#include "support.h"

namespace afore::kernels {
namespace {

std::vector<std::uint16_t> decode(const Scene& scene, const std::vector<std::int32_t>& tokens) {
  const std::int32_t count = static_cast<std::int32_t>(tokens.size());
  const Guarded on_device(scene);
  const Memory<std::int32_t> listed(tokens);
  Memory<float> scratch(static_cast<std::size_t>(attend_scratch_floats(scene.shape, count, scene.most_positions())),
                        std::numeric_limits<float>::quiet_NaN());
  Memory<std::uint16_t> out(scene.out_size(), 0x1234);
  attend_decode(scene.shape, on_device.q.data(), on_device.cache.data(), on_device.places(), listed.data(), count,
                scene.most_positions(), scratch.data(), out.data(), nullptr);
  return out.values();
}

std::vector<std::uint16_t> prefill(const Scene& scene, const std::vector<QueryRun>& runs) {
  const Guarded on_device(scene);
  const Memory<QueryRun> listed(runs);
  Memory<std::uint16_t> out(scene.out_size(), 0x1234);
  attend_prefill(scene.shape, on_device.q.data(), on_device.cache.data(), on_device.places(), listed.data(),
                 static_cast<std::int32_t>(runs.size()), out.data(), nullptr);
  return out.values();
}

void expect_as_twin(const Scene& scene, const std::vector<std::uint16_t>& out) {
  const std::vector<std::int32_t> tokens = scene.all_tokens();
  std::vector<std::uint16_t> expected(scene.out_size());
  twin::attend(scene.shape, scene.q.data(), scene.cache.data(), scene.places(), tokens.data(), scene.tokens(),
               expected.data());
  const std::size_t row = static_cast<std::size_t>(scene.shape.heads) * scene.shape.head_dim;
  for (std::size_t i = 0; i < out.size(); ++i)
    ASSERT_NEAR(float_of(out[i]), float_of(expected[i]),
                attend_bound(scene.shape, scene.position[i / row] + 1, float_of(expected[i])))
        << "token " << i / row << ", element " << i % row;
}

std::vector<QueryRun> runs_of(const Scene& scene, std::int32_t most) {
  std::vector<QueryRun> runs;
  for (std::int32_t t = 0; t < scene.tokens(); ++t) {
    const bool joins = !runs.empty() && runs.back().tokens < most && scene.slice[t] == scene.slice[t - 1];
    if (joins) ++runs.back().tokens;
    else runs.push_back({t, 1});
  }
  return runs;
}

const AttentionShape kShapes[] = {{4, 2, 64, 0},  {12, 1, 128, 0}, {5, 1, 32, 0},  {3, 3, 40, 0},
                                  {20, 1, 96, 0}, {4, 2, 256, 0},  {7, 1, 200, 0}, {2, 2, 8, 0}};

// Every place where a page or a chunk begins or ends.
TEST(AttendDecode, IsTheTwinsAtEveryEdge) {
  const AttentionShape shape{2, 1, 32, 0};
  std::vector<Span> slices;
  for (const std::int32_t positions : {513, 1, 15, 16, 17, 33, 255, 256, 257, 272, 273, 31})
    slices.push_back({positions - 1, 1});
  const Scene scene = make_scene(shape, slices, 21, true);
  for_schedules([&] { expect_as_twin(scene, decode(scene, scene.all_tokens())); });
}

TEST(AttendDecode, IsTheTwinsInEveryShape) {
  for (const AttentionShape& shape : kShapes) {
    SCOPED_TRACE(shape.head_dim);
    const Scene scene = make_scene(shape, {{0, 1}, {37, 1}}, 22, true);
    for_schedules([&] { expect_as_twin(scene, decode(scene, scene.all_tokens())); });
  }
}

TEST(AttendDecode, TakesAModelOf96HeadsOver8) {
  const Scene scene = make_scene({96, 8, 128, 0}, {{40, 1}}, 23, true);
  expect_as_twin(scene, decode(scene, scene.all_tokens()));
}

// Scores of hundreds, growing or falling along the sequence, so that every page changes the largest one or none does.
TEST(AttendDecode, LargeScoresAreNoTrouble) {
  for (const float slope : {1.0f, -1.0f}) {
    Scene scene = make_scene({2, 1, 32, 0}, {{299, 1}}, 24, true);
    std::fill(scene.q.begin(), scene.q.end(), 2.0f);
    for (std::int64_t p = 0; p < 300; ++p)
      for (std::size_t d = 0; d < 32; ++d)
        scene.cache[scene.at(0, 0, 0, p) + d] = bf16_of(slope * static_cast<float>(p) / 8);
    std::vector<std::uint16_t> expected(scene.out_size());
    const std::vector<std::int32_t> tokens = {0};
    twin::attend(scene.shape, scene.q.data(), scene.cache.data(), scene.places(), tokens.data(), 1, expected.data());
    const std::vector<std::uint16_t> out = decode(scene, tokens);
    // Scores up to 424, off by 12 * 2^-24 of that: 3e-4 of a weight.
    for (std::size_t i = 0; i < out.size(); ++i)
      EXPECT_NEAR(float_of(out[i]), float_of(expected[i]), std::abs(float_of(expected[i])) * 0x1p-7 + 4 * 6e-4) << i;
  }
}

// The listed tokens alone, in any order, each to its own place.
TEST(AttendDecode, DoesNotDependOnTheBatch) {
  const Scene scene = make_scene({8, 2, 64, 0}, {{300, 1}, {5, 1}, {15, 2}, {256, 1}}, 25, true);
  const std::size_t row = 8 * 64;
  const std::vector<std::uint16_t> all = decode(scene, scene.all_tokens());
  EXPECT_EQ(decode(scene, {4, 2, 0, 3, 1}), all);
  for (std::int32_t t = 0; t < scene.tokens(); ++t) {
    const std::vector<std::uint16_t> alone = decode(scene, {t});
    for (std::size_t i = 0; i < alone.size(); ++i)
      ASSERT_EQ(alone[i], i / row == static_cast<std::size_t>(t) ? all[i] : 0x1234) << i;
  }
}

// The same sequence in other pages, and under a larger bound of the host's.
TEST(AttendDecode, DoesNotDependOnWherePagesLie) {
  const AttentionShape shape{4, 1, 64, 0};
  const Scene scene = make_scene(shape, {{272, 1}}, 26, true);
  Scene other = make_scene(shape, {{272, 1}, {1000, 1}}, 27, false);
  other.q = scene.q;
  other.q.resize(other.out_size());
  for (std::int64_t which = 0; which < 2; ++which)
    for (std::int64_t p = 0; p <= 272; ++p)
      std::copy_n(scene.cache.begin() + scene.at(0, which, 0, p), 64, other.cache.begin() + other.at(0, which, 0, p));
  std::vector<std::uint16_t> out = decode(other, {0});
  out.resize(scene.out_size());
  EXPECT_EQ(out, decode(scene, {0}));
}

TEST(AttendPrefill, IsDecodeBitForBit) {
  const std::vector<Span> slices = {{0, 18}, {254, 4}, {14, 3}};
  for (const AttentionShape& shape : {AttentionShape{5, 1, 32, 0}, AttentionShape{2, 2, 136, 0}}) {
    SCOPED_TRACE(shape.head_dim);
    const Scene scene = make_scene(shape, slices, 31, true);
    const std::vector<std::uint16_t> expected = decode(scene, scene.all_tokens());
    for_schedules([&] {
      EXPECT_EQ(prefill(scene, runs_of(scene, kQueryTile)), expected);
      EXPECT_EQ(prefill(scene, runs_of(scene, 3)), expected);
    });
  }
}

TEST(AttendPrefill, IsTheTwinsInEveryShape) {
  for (const AttentionShape& shape : kShapes) {
    SCOPED_TRACE(shape.head_dim);
    const Scene scene = make_scene(shape, {{0, 2}, {13, 6}}, 32, true);
    const std::vector<std::uint16_t> expected = decode(scene, scene.all_tokens());
    for_schedules([&] { EXPECT_EQ(prefill(scene, runs_of(scene, kQueryTile)), expected); });
    expect_as_twin(scene, expected);
  }
}

// What a later token of the run wrote, NaN even, is nothing to those before it.
TEST(AttendPrefill, DoesNotLookAhead) {
  Scene scene = make_scene({4, 2, 64, 0}, {{3, 10}}, 33, true);
  const std::vector<std::uint16_t> expected = prefill(scene, {{0, 10}});
  for (std::int64_t which = 0; which < 2; ++which)
    for (std::int64_t h = 0; h < 2; ++h)
      for (std::int64_t p = 9; p < 13; ++p)
        std::fill_n(scene.cache.begin() + scene.at(0, which, h, p), 64, std::uint16_t{0x7fc2});
  const std::vector<std::uint16_t> out = prefill(scene, {{0, 10}});
  const std::size_t before = 6 * 4 * 64;
  EXPECT_EQ(std::vector(out.begin(), out.begin() + before), std::vector(expected.begin(), expected.begin() + before));
  for (std::size_t i = before; i < out.size(); ++i) ASSERT_TRUE(std::isnan(float_of(out[i]))) << i;
}

TEST(AttendPrefill, NoRunsAreNoLaunch) {
  const Scene scene = make_scene({4, 2, 64, 0}, {{0, 1}}, 34, true);
  const std::vector<std::uint16_t> untouched(scene.out_size(), 0x1234);
  EXPECT_EQ(prefill(scene, {}), untouched);
  EXPECT_EQ(decode(scene, {}), untouched);
}

}  // namespace
}  // namespace afore::kernels
