#include <gtest/gtest.h>

#include "expert_rows_scene.h"
#include "kernels/expert_rows.h"
#include "support.h"

namespace afore::kernels {
namespace {

std::vector<std::vector<std::int32_t>> rows_of_pairs(const WorkScene& scene) {
  std::vector<std::vector<std::int32_t>> all;
  for (const auto& part : scene.memory) all.push_back(part->row_of_pair.values());
  return all;
}
void forget(WorkScene& scene) {
  for (const auto& part : scene.memory) std::fill(part->row_of_pair.begin(), part->row_of_pair.end(), 12345);
}

void expect_twins_list(WorkScene& scene, std::int32_t tile_tokens) {
  const Memory<Part> parts(scene.parts);
  const Memory<Share> shares(scene.shares);
  Work expected(scene);
  forget(scene);
  twin::list_work(parts.data(), shares.data(), expected.counts.data(), scene.bounds, tile_tokens, expected.rows.data(),
                  expected.tiles.data());
  const auto expected_rows = rows_of_pairs(scene);
  for_schedules([&] {
    Work work(scene);
    forget(scene);
    list_work(parts.data(), shares.data(), work.counts.data(), scene.bounds, tile_tokens, work.rows.data(),
              work.tiles.data(), nullptr);
    EXPECT_TRUE(work.counts[0] == expected.counts[0]) << work.counts[0].rows << ' ' << work.counts[0].tiles;
    EXPECT_TRUE(work.rows.values() == expected.rows.values());
    EXPECT_TRUE(work.tiles.values() == expected.tiles.values());
    EXPECT_TRUE(rows_of_pairs(scene) == expected_rows);
  });
}

TEST(ListWork, IsItsTwins) {
  for (const WorkSceneSizes& sizes : {WorkSceneSizes{.tokens = {5, 0, 9}, .experts = 4, .top_k = 2},
                                      WorkSceneSizes{.tokens = {1}, .experts = 1, .top_k = 1},
                                      WorkSceneSizes{.tokens = {300, 200}, .experts = 3, .top_k = 2},
                                      WorkSceneSizes{.tokens = {7, 8, 9, 10}, .experts = 64, .top_k = 8}})
    for (const std::int32_t tile_tokens : {16, 32, 64}) {
      SCOPED_TRACE(testing::Message() << sizes.experts << " experts, tiles of " << tile_tokens);
      WorkScene scene(sizes, 1);
      scene.share_experts(2);
      scene.set_bounds(tile_tokens);
      expect_twins_list(scene, tile_tokens);
    }
}

// Two parts of 2 tokens and 2 pairs each; the middle two of expert 1's four occurrences.
TEST(ListWork, NumbersOccurrencesOverParts) {
  WorkScene scene({.tokens = {2, 2}, .experts = 2, .top_k = 2}, 1);
  scene.add_share(1, 1, 2);
  scene.set_bounds(16);
  Work work(scene);
  list_work(scene.parts.data(), scene.shares.data(), work.counts.data(), scene.bounds, 16, work.rows.data(),
            work.tiles.data(), nullptr);
  const std::int32_t last_of_first = scene.memory[0]->sorted[3], first_of_second = scene.memory[1]->sorted[2];
  EXPECT_TRUE(work.counts[0] == (WorkCounts{1, 2, 1}));
  EXPECT_TRUE(work.tiles[0] == (Tile{1, 0, 2}));
  EXPECT_TRUE(work.rows[0] == (Row{0, last_of_first}));
  EXPECT_TRUE(work.rows[1] == (Row{1, first_of_second}));
  std::vector<std::int32_t> expected(4, -1);
  expected[static_cast<std::size_t>(last_of_first)] = 0;
  EXPECT_EQ(scene.memory[0]->row_of_pair.values(), expected);
}

TEST(ListWork, OfNothing) {
  WorkScene none({.tokens = {3}, .experts = 2, .top_k = 1}, 1);
  none.set_bounds(16);
  expect_twins_list(none, 16);
  WorkScene empty({.tokens = {3}, .experts = 2, .top_k = 1}, 1);
  empty.add_share(0, 0, 0);
  empty.add_share(1, 0, 0);
  empty.set_bounds(16);
  expect_twins_list(empty, 16);
  WorkScene no_parts({.tokens = {}, .experts = 1, .top_k = 1}, 1);
  no_parts.set_bounds(16);
  expect_twins_list(no_parts, 16);
}

TEST(ListWork, OfManyShares) {
  WorkScene scene({.tokens = {2100}, .experts = 512, .top_k = 8}, 2);  // 16800 pairs: more than blocks forget at once
  for (std::int32_t e = 0; e < 512; ++e)
    for (std::int32_t i = 0; i < 8; ++i) {  // and the last row of each eighth is another worker's
      const std::int32_t first = scene.demand(e) * i / 8, end = scene.demand(e) * (i + 1) / 8;
      scene.add_share(e, first, std::max(0, end - first - 1));
    }
  scene.set_bounds(16);
  const Memory<Part> parts(scene.parts);
  const Memory<Share> shares(scene.shares);
  Work expected(scene), work(scene);
  twin::list_work(parts.data(), shares.data(), expected.counts.data(), scene.bounds, 16, expected.rows.data(),
                  expected.tiles.data());
  const auto expected_rows = rows_of_pairs(scene);
  forget(scene);
  list_work(parts.data(), shares.data(), work.counts.data(), scene.bounds, 16, work.rows.data(), work.tiles.data(),
            nullptr);
  EXPECT_EQ(scene.shares.size(), 4096u);
  EXPECT_TRUE(work.counts[0] == expected.counts[0]);
  EXPECT_TRUE(work.rows.values() == expected.rows.values());
  EXPECT_TRUE(work.tiles.values() == expected.tiles.values());
  EXPECT_TRUE(rows_of_pairs(scene) == expected_rows);
}

// Buffers that say more than the launch allows are cut at what it allows.
class ListWorkStops : public testing::Test {
 protected:
  WorkScene scene{{.tokens = {40, 30}, .experts = 4, .top_k = 2}, 3};
  void SetUp() override {
    scene.share_experts(1);
    scene.set_bounds(16);
  }
};

TEST_F(ListWorkStops, AtShares) {
  scene.bounds.shares = 2;
  expect_twins_list(scene, 16);
  scene.bounds.shares = 0;
  expect_twins_list(scene, 16);
}

TEST_F(ListWorkStops, AtRows) {
  for (const std::int32_t rows :
       {0, 1, scene.demand(0) - 1, scene.demand(0), scene.demand(0) + 1, scene.bounds.rows - 1}) {
    SCOPED_TRACE(rows);
    scene.bounds.rows = rows;
    expect_twins_list(scene, 16);
  }
}

TEST_F(ListWorkStops, AtTiles) {
  for (const std::int32_t tiles : {0, 1, 2, 3, scene.bounds.tiles - 1}) {
    SCOPED_TRACE(tiles);
    scene.bounds.tiles = tiles;
    expect_twins_list(scene, 16);
  }
}

TEST_F(ListWorkStops, AtTokensOfAPart) {
  scene.shares.resize(0);
  scene.bounds.part_tokens = 35;
  expect_twins_list(scene, 16);
}

TEST_F(ListWorkStops, WhateverSharesSay) {
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  scene.shares[1].tokens = kMost;  // with what comes before, more than 32 bits hold
  scene.shares[2].tokens = kMost;
  expect_twins_list(scene, 16);
  scene.shares[0].tokens = -3;
  expect_twins_list(scene, 16);
}

// Rows that an expert does not have are no pair's.
TEST_F(ListWorkStops, AtTheEndOfAnExpert) {
  scene.shares = {{3, 0, 3, 2}, {2, scene.demand(2) + 2, 3, 1}, {1, 0, scene.demand(1) + 5, 0}};
  scene.set_bounds(16);
  expect_twins_list(scene, 16);
}

TEST(ListDense, IsItsTwins) {
  for (const std::int32_t rows : {0, 1, 16, 17, 5000})
    for (const std::int32_t tile_tokens : {16, 64}) {
      const auto num_tiles = static_cast<std::size_t>((rows + tile_tokens - 1) / tile_tokens);
      Memory<WorkCounts> expected_counts(1);
      Memory<Tile> expected_tiles(num_tiles);
      twin::list_dense(rows, tile_tokens, expected_counts.data(), expected_tiles.data());
      for_schedules([&] {
        Memory<WorkCounts> counts(1);
        Memory<Tile> tiles(num_tiles);
        list_dense(rows, tile_tokens, counts.data(), tiles.data(), nullptr);
        EXPECT_TRUE(counts[0] == expected_counts[0]);
        EXPECT_TRUE(tiles.values() == expected_tiles.values());
      });
    }
}

}  // namespace
}  // namespace afore::kernels
