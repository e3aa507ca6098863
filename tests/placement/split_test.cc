#include <gtest/gtest.h>

#include <array>

#include "instances.h"
#include "placement/bounds.h"
#include "placement/split_free.h"
#include "placement/split_tiles.h"
#include "placement/split_time.h"

namespace afore::placement {
namespace {

using testing::BruteForce;
using testing::make_board;
using testing::Random;

using Tiles = std::vector<std::int64_t>;
using Holders = std::vector<std::vector<int>>;
constexpr LoadForm kTiles{1, 0};

void expect_whole_split(const Board& board) {
  std::vector<std::int64_t> sum(board.experts(), 0), load(board.workers(), 0);
  for (const TileShare& share : board.assignment()) {
    ASSERT_GT(share.tiles, 0);
    sum[share.expert] += share.tiles;
    load[share.worker] += board.form().whole(share.tiles);
  }
  for (int e = 0; e < board.experts(); ++e) EXPECT_EQ(sum[e], board.demand(e));
  for (int w = 0; w < board.workers(); ++w) EXPECT_EQ(load[w], board.load(w));
}

Holders random_holders(Random& random, int experts, int workers) {
  Holders holders(experts);
  for (auto& list : holders) {
    list.push_back(static_cast<int>(random.below(workers)));
    for (int worker = 0; worker < workers; ++worker)
      if (worker != list.front() && random.below(4) == 0) list.push_back(worker);
  }
  return holders;
}

TEST(TileSplit, MultiHopPathReachesTheOptimum) {
  Board board = make_board({4, 2}, 3, {{0, 1}, {1, 2}}, kTiles);
  TileSplitter splitter;
  EXPECT_EQ(splitter.split(board, 0), 2);
  expect_whole_split(board);
}

TEST(TileSplit, HallCutIsTheCertificate) {
  Board board = make_board({9, 1}, 3, {{0, 1}, {2}}, kTiles);
  TileSplitter splitter;
  EXPECT_EQ(splitter.split(board, 4), 5);
  EXPECT_EQ(splitter.cut(), (std::vector<int>{0, 1}));
}

TEST(TileSplit, EqualsHallsBoundAndItsCutProvesIt) {
  Random random(1);
  TileSplitter splitter;
  int cuts = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const int workers = 1 + static_cast<int>(random.below(7)), experts = 1 + static_cast<int>(random.below(16));
    const Holders holders = random_holders(random, experts, workers);
    Tiles tiles(experts);
    std::int64_t total = 0;
    for (auto& n : tiles) total += n = random.below(13);
    Board board = make_board(tiles, workers, holders, kTiles);
    const std::int64_t floor = ceil_div(total, workers);
    ASSERT_EQ(splitter.split(board, floor), testing::hall(tiles, workers, holders)) << "trial " << trial;
    expect_whole_split(board);
    if (splitter.cut().empty()) {
      EXPECT_EQ(board.max_load(), floor);
      continue;
    }
    ++cuts;
    std::int64_t confined = 0;
    for (int e = 0; e < experts; ++e)
      if (std::all_of(holders[e].begin(), holders[e].end(),
                      [&](int w) { return std::binary_search(splitter.cut().begin(), splitter.cut().end(), w); }))
        confined += tiles[e];
    EXPECT_EQ(ceil_div(confined, std::ssize(splitter.cut())), board.max_load());
  }
  EXPECT_GT(cuts, 100);
}

struct TimeVector {
  int workers;
  Tiles tiles;
  Holders holders;
  std::int64_t c2, optimum;
};

// Proven optima by brute force (c1 = 1); the heuristic must reach each.
TEST(TimeSplit, ReachesTheKnownOptima) {
  const std::vector<TimeVector> vectors = {
      {2, {8, 2}, {{0, 1}, {1}}, 2, 8},
      {2, {5, 2}, {{0, 1}, {1}}, 4, 9},
      {2, {6, 2, 1}, {{0}, {0, 1}, {1}}, 4, 11},
      {2, {3, 3, 2, 2, 2}, {{0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}}, 3, 15},
      {2, {5, 5, 5}, {{0, 1}, {0, 1}, {0, 1}}, 4, 16},
      {3, {12}, {{0, 1, 2}}, 2, 6},
      {3, {4, 3, 3}, {{0}, {0, 1}, {1, 2}}, 2, 6},
      {3, {9, 1}, {{0, 1}, {2}}, 2, 7},
  };
  TileSplitter tiles;
  TimeSplitter splitter(tiles);
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    const TimeVector& v = vectors[i];
    Board board = make_board(v.tiles, v.workers, v.holders, {1, v.c2});
    EXPECT_EQ(splitter.split(board, 0), v.optimum) << "vector " << i + 1;
    expect_whole_split(board);
    EXPECT_EQ(BruteForce(v.tiles, v.workers, {1, v.c2}).split(v.holders), v.optimum);
    Bounds bounds;
    EXPECT_LE(bounds.lower_bound(board, {1, v.c2}, {}, {}), v.optimum);
  }
}

TEST(Bounds, ForcedPartsProveWhereVolumeDoesNot) {
  Bounds bounds;
  // 1: static 10, volume 7; 6: three parts; 8: Hall set {0,1} gives 6, with forced parts 7 is needed, 6 is what the
  // bounds here prove.
  EXPECT_EQ(bounds.lower_bound(make_board({8, 2}, 2, {{0, 1}, {1}}, {1, 2}), {1, 2}, {}, {}), 8);
  EXPECT_EQ(bounds.lower_bound(make_board({12}, 3, {{0, 1, 2}}, {1, 2}), {1, 2}, {}, {}), 6);
  EXPECT_GE(bounds.lower_bound(make_board({9, 1}, 3, {{0, 1}, {2}}, {1, 2}), {1, 2}, {}, {}), 6);
}

TEST(TimeSplit, NeverAboveThePrimariesOrTheTileOptimumNeverBelowBruteForceOrBounds) {
  Random random(2);
  TileSplitter tile_splitter;
  TimeSplitter splitter(tile_splitter);
  Bounds bounds;
  int optimal = 0, trials = 400;
  for (int trial = 0; trial < trials; ++trial) {
    const int workers = 2 + static_cast<int>(random.below(3)), experts = 1 + static_cast<int>(random.below(5));
    const Holders holders = random_holders(random, experts, workers);
    Tiles tiles(experts);
    for (auto& n : tiles) n = random.below(7);
    const LoadForm form{1 + random.below(3), random.below(9)};
    Board board = make_board(tiles, workers, holders, form);
    const std::int64_t bound = bounds.lower_bound(board, form, {}, {});
    const std::int64_t value = splitter.split(board, bound);
    expect_whole_split(board);
    const std::int64_t optimum = BruteForce(tiles, workers, form).split(holders);
    ASSERT_GE(value, optimum);
    ASSERT_LE(bound, optimum) << "trial " << trial;
    optimal += value == optimum;
    board.all_on_primaries();
    board.settle();
    EXPECT_LE(value, board.max_load());
    board.set_form(kTiles);
    tile_splitter.split(board, 0);
    board.set_form(form);
    EXPECT_LE(value, board.max_load());
  }
  EXPECT_GE(optimal, trials * 95 / 100);
}

TEST(Board, RewindAndReplayRestoreLoadsAndReplicas) {
  Board board = make_board({5, 4}, 3, {{0, 1}, {1}}, {2, 3});
  board.all_on_primaries();
  board.settle();
  std::vector<std::int64_t> before(board.loads().begin(), board.loads().end());
  board.move(0, 1, 5);
  const int added = board.add(1, 2);
  board.move(2, added, 4);
  board.retire(2);
  const auto log = board.changes(0);
  const std::vector<Board::Change> changes(log.begin(), log.end());
  const std::vector<std::int64_t> after(board.loads().begin(), board.loads().end());
  EXPECT_EQ(board.holders(1), 1);
  board.rewind(0);
  EXPECT_EQ(std::vector<std::int64_t>(board.loads().begin(), board.loads().end()), before);
  EXPECT_EQ(board.replicas().size(), 3u);
  EXPECT_EQ(board.busiest(), 0);
  board.replay(changes);
  EXPECT_EQ(std::vector<std::int64_t>(board.loads().begin(), board.loads().end()), after);
}

TEST(PackUnder, FillsWholeWorkersAndCutsWhatFitsNowhere) {
  std::vector<Part> parts;
  const auto packed = [&](const Tiles& tiles, int workers, LoadForm form, std::int64_t limit) {
    std::vector<std::array<std::int64_t, 3>> list;
    if (!pack_under(tiles, workers, form, limit, parts)) return list;
    for (const Part& part : parts) list.push_back({part.expert, part.worker, part.tiles});
    return list;
  };
  using List = std::vector<std::array<std::int64_t, 3>>;
  EXPECT_EQ(packed({10}, 2, kTiles, 5), (List{{0, 0, 5}, {0, 1, 5}}));
  EXPECT_EQ(packed({7, 2}, 2, kTiles, 5), (List{{0, 0, 5}, {0, 1, 2}, {1, 1, 2}}));
  EXPECT_EQ(packed({3, 3, 3}, 2, kTiles, 5), (List{{0, 0, 3}, {1, 1, 3}, {2, 0, 2}, {2, 1, 1}}));
  EXPECT_EQ(packed({11}, 2, kTiles, 5), List{});
  EXPECT_EQ(packed({2}, 1, LoadForm{1, 4}, 4), List{});
}

TEST(PackUnder, KeepsEveryWorkerUnderTheLimit) {
  Random random(9);
  int packed = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    const int workers = 1 + static_cast<int>(random.below(6)), experts = 1 + static_cast<int>(random.below(10));
    Tiles tiles(experts), load(workers, 0), sum(experts, 0);
    for (auto& n : tiles) n = random.below(12) * random.below(3);
    const LoadForm form{1 + random.below(3), random.below(5)};
    const std::int64_t limit = 1 + random.below(60);
    std::vector<Part> parts;
    if (!pack_under(tiles, workers, form, limit, parts)) continue;
    for (const Part& part : parts) {
      ASSERT_GT(part.tiles, 0);
      load[part.worker] += form.whole(part.tiles);
      sum[part.expert] += part.tiles;
    }
    ASSERT_EQ(sum, tiles) << "trial " << trial;
    for (const std::int64_t l : load) ASSERT_LE(l, limit) << "trial " << trial;
    ++packed;
  }
  EXPECT_GT(packed, 500);
}

}  // namespace
}  // namespace afore::placement
