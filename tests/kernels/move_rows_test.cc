// Rows to and from experts, and their sums: all bytes are the twins'.
#include <gtest/gtest.h>

#include "expert_rows_scene.h"
#include "kernels/expert_rows.h"
#include "support.h"

namespace afore::kernels {
namespace {

constexpr std::int32_t kTileTokens = 16;

struct Listed {
  WorkScene scene;
  std::unique_ptr<Work> work;
  std::vector<float> y;

  Listed(const WorkSceneSizes& sizes, std::int32_t bounds_more) : scene(sizes, 5) {
    scene.share_experts(3);
    scene.shares.push_back({0, scene.demand(0), 2, 0});  // two rows of no pair
    scene.set_bounds(kTileTokens);
    scene.bounds.rows += bounds_more;
    work = std::make_unique<Work>(scene);
    twin::list_work(scene.parts.data(), scene.shares.data(), work->counts.data(), scene.bounds, kTileTokens,
                    work->rows.data(), work->tiles.data());
    for (std::size_t r = static_cast<std::size_t>(work->counts[0].rows); r < work->rows.size(); ++r)
      work->rows[r] = {0, 0};  // of a launch before
    y = Numbers(6).floats(size_of_rows());
  }
  std::size_t size_of_rows() const {
    return static_cast<std::size_t>(scene.bounds.rows) * static_cast<std::size_t>(scene.sizes.hidden);
  }
  // Parts with `out` where rows or sums go, which are not numbers yet.
  std::vector<Part> parts(bool of_pairs) {
    std::vector<Part> result = scene.parts;
    for (std::size_t p = 0; p < result.size(); ++p) {
      Memory<float>& out = of_pairs ? scene.memory[p]->out_of_pairs : scene.memory[p]->out_of_tokens;
      std::fill(out.begin(), out.end(), kNaN);
      result[p].out = out.data();
    }
    return result;
  }
  std::vector<std::vector<float>> outs(bool of_pairs) const {
    std::vector<std::vector<float>> all;
    for (const auto& part : scene.memory) all.push_back((of_pairs ? part->out_of_pairs : part->out_of_tokens).values());
    return all;
  }
};

bool same_outs(const std::vector<std::vector<float>>& a, const std::vector<std::vector<float>>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return same_bytes(x, y); });
}

const WorkSceneSizes kScenes[] = {
    {.tokens = {5, 0, 9}, .experts = 6, .top_k = 3, .hidden = 24},
    {.tokens = {1}, .experts = 1, .top_k = 1, .hidden = 8},
    {.tokens = {3, 2}, .experts = 20, .top_k = 8, .hidden = 1048},  // more than a block's threads take at once
};

TEST(MoveRows, GatherIsItsTwins) {
  for (const WorkSceneSizes& sizes : kScenes)
    for (const std::int32_t bounds_more : {0, 3}) {
      Listed listed(sizes, bounds_more);
      Memory<std::uint16_t> expected(listed.size_of_rows(), 7);
      twin::gather_rows(listed.scene.parts.data(), listed.work->rows.data(), listed.work->counts.data(),
                        listed.scene.bounds, sizes.hidden, expected.data());
      for_schedules([&] {
        Memory<std::uint16_t> xs(listed.size_of_rows(), 7);
        gather_rows(listed.scene.parts.data(), listed.work->rows.data(), listed.work->counts.data(),
                    listed.scene.bounds, sizes.hidden, xs.data(), nullptr);
        EXPECT_TRUE(same_bytes(xs, expected));
      });
    }
}

TEST(MoveRows, ScatterIsItsTwins) {
  for (const WorkSceneSizes& sizes : kScenes)
    for (const std::int32_t bounds_more : {0, 3}) {
      Listed listed(sizes, bounds_more);
      const Memory<float> y(listed.y);
      twin::scatter_rows(listed.parts(true).data(), listed.work->rows.data(), listed.work->counts.data(),
                         listed.scene.bounds, sizes.hidden, y.data());
      const auto expected = listed.outs(true);
      for_schedules([&] {
        scatter_rows(listed.parts(true).data(), listed.work->rows.data(), listed.work->counts.data(),
                     listed.scene.bounds, sizes.hidden, y.data(), nullptr);
        EXPECT_TRUE(same_outs(listed.outs(true), expected));
      });
    }
}

TEST(MoveRows, SumIsItsTwins) {
  for (const WorkSceneSizes& sizes : kScenes) {
    Listed listed(sizes, 0);
    const Memory<float> y(listed.y);
    twin::sum_rows(listed.parts(false).data(), listed.scene.bounds, sizes.hidden, y.data());
    const auto expected = listed.outs(false);
    for_schedules([&] {
      sum_rows(listed.parts(false).data(), listed.scene.bounds, sizes.hidden, y.data(), nullptr);
      EXPECT_TRUE(same_outs(listed.outs(false), expected));
    });
  }
}

// A part with more tokens than the launch allows for: the rest stays as it is.
TEST(MoveRows, SumStopsAtItsBounds) {
  Listed listed(kScenes[0], 0);
  listed.scene.bounds.part_tokens = 4;
  twin::sum_rows(listed.parts(false).data(), listed.scene.bounds, 24, listed.y.data());
  const auto expected = listed.outs(false);
  for_schedules([&] {
    sum_rows(listed.parts(false).data(), listed.scene.bounds, 24, listed.y.data(), nullptr);
    EXPECT_TRUE(same_outs(listed.outs(false), expected));
  });
}

// Counts beyond the bounds: as many rows as those say.
TEST(MoveRows, StopAtTheirBounds) {
  Listed listed(kScenes[0], 0);
  const std::int32_t hidden = kScenes[0].hidden;
  listed.scene.bounds.rows = 3;
  Memory<std::uint16_t> xs(listed.size_of_rows(), 7), expected(listed.size_of_rows(), 7);
  twin::gather_rows(listed.scene.parts.data(), listed.work->rows.data(), listed.work->counts.data(),
                    listed.scene.bounds, hidden, expected.data());
  const Memory<float> y(std::span(listed.y).first(listed.size_of_rows()));
  twin::scatter_rows(listed.parts(true).data(), listed.work->rows.data(), listed.work->counts.data(),
                     listed.scene.bounds, hidden, y.data());
  const auto expected_outs = listed.outs(true);
  for_schedules([&] {
    gather_rows(listed.scene.parts.data(), listed.work->rows.data(), listed.work->counts.data(), listed.scene.bounds,
                hidden, xs.data(), nullptr);
    EXPECT_TRUE(same_bytes(xs, expected));
    scatter_rows(listed.parts(true).data(), listed.work->rows.data(), listed.work->counts.data(), listed.scene.bounds,
                 hidden, y.data(), nullptr);
    EXPECT_TRUE(same_outs(listed.outs(true), expected_outs));
  });
}

// More rows and tokens than a launch has blocks.
TEST(MoveRows, BlocksTakeSeveralRows) {
  Listed listed({.tokens = {1100}, .experts = 4, .top_k = 3, .hidden = 8}, 0);
  ASSERT_GT(listed.work->counts[0].rows, 2048);
  Memory<std::uint16_t> xs(listed.size_of_rows()), expected_xs(listed.size_of_rows());
  const Memory<float> y(listed.y);
  twin::gather_rows(listed.scene.parts.data(), listed.work->rows.data(), listed.work->counts.data(),
                    listed.scene.bounds, 8, expected_xs.data());
  gather_rows(listed.scene.parts.data(), listed.work->rows.data(), listed.work->counts.data(), listed.scene.bounds, 8,
              xs.data(), nullptr);
  EXPECT_TRUE(same_bytes(xs, expected_xs));
  twin::scatter_rows(listed.parts(true).data(), listed.work->rows.data(), listed.work->counts.data(),
                     listed.scene.bounds, 8, y.data());
  auto expected = listed.outs(true);
  scatter_rows(listed.parts(true).data(), listed.work->rows.data(), listed.work->counts.data(), listed.scene.bounds, 8,
               y.data(), nullptr);
  EXPECT_TRUE(same_outs(listed.outs(true), expected));
  twin::sum_rows(listed.parts(false).data(), listed.scene.bounds, 8, y.data());
  expected = listed.outs(false);
  sum_rows(listed.parts(false).data(), listed.scene.bounds, 8, y.data(), nullptr);
  EXPECT_TRUE(same_outs(listed.outs(false), expected));
}

TEST(MoveRows, NothingToMove) {
  Listed listed({.tokens = {}, .experts = 1, .top_k = 1}, 0);
  listed.scene.bounds.rows = 0;
  gather_rows(nullptr, nullptr, nullptr, listed.scene.bounds, 8, nullptr, nullptr);
  scatter_rows(nullptr, nullptr, nullptr, listed.scene.bounds, 8, nullptr, nullptr);
  sum_rows(nullptr, listed.scene.bounds, 8, nullptr, nullptr);
}

}  // namespace
}  // namespace afore::kernels
