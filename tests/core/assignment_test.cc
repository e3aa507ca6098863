// The checks that every target passes have short ways; here they are beside the rules they stand for.
#include "core/assignment.h"

#include <gtest/gtest.h>

#include "util/error.h"
#include "util/rng.h"

namespace afore {
namespace {

TEST(CountTiles, RoundsUpForEveryTile) {
  for (const std::int64_t tile : {1, 2, 3, 48, 64, 100, 128, 1 << 20}) {
    const std::vector<std::int64_t> counts = {0, 1, tile - 1, tile, tile + 1, 7 * tile, 7 * tile + 1, 1'000'000'007};
    std::vector<std::int64_t> tiles;
    count_tiles(counts, tile, tiles);
    for (std::size_t e = 0; e < counts.size(); ++e) {
      EXPECT_GE(tiles[e] * tile, counts[e]) << tile;
      EXPECT_LT((tiles[e] - 1) * tile, counts[e]) << tile;
    }
  }
}

bool is_refused(std::int64_t tokens, const std::vector<std::int64_t>& counts, int workers, const LayerCost& cost) {
  try {
    check_magnitude({}, tokens, counts, workers, cost);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::data);
    return true;
  }
  return false;
}

TEST(CheckMagnitude, RefusesWhatTheSumOfTimesTimesWorkersLeavesIn64Bits) {
  Rng rng(1);
  const auto up_to_bits = [&](std::uint64_t bits) {
    return static_cast<std::int64_t>(rng.next() >> (63 - rng.below(bits)) >> 1);
  };
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::vector<std::int64_t> counts(1 + rng.below(5));
    for (std::int64_t& count : counts) count = up_to_bits(54);
    LayerCost cost;
    cost.c0_ns = up_to_bits(34);
    cost.c1_ns = 1 + up_to_bits(34);
    cost.c2_ns = up_to_bits(34);
    cost.tile_tokens = 1 + up_to_bits(12);
    const std::int64_t tokens = i % 8 == 0 ? up_to_bits(34) : 1;
    const int workers = 1 + static_cast<int>(rng.below(300));
    __int128 ns = cost.c0_ns;
    for (const std::int64_t count : counts) {
      const __int128 tiles = (static_cast<__int128>(count) + cost.tile_tokens - 1) / cost.tile_tokens;
      ns += tiles * cost.c1_ns + (count > 0 ? cost.c2_ns : 0);
    }
    const bool expected = tokens > std::int64_t{1} << 31 || ns * workers >= __int128{1} << 62;
    EXPECT_EQ(is_refused(tokens, counts, workers, cost), expected);
    refused += expected ? 1 : 0;
  }
  EXPECT_GT(refused, 1000);
  EXPECT_LT(refused, 19'000);
}

// covers_demand() is whether token_shares() does not fail.
TEST(CoversDemand, SaysWhetherTokensCanBeShared) {
  Rng rng(2);
  const LayerPlacement placement = LayerPlacement::initial(4, 4, 0);
  int covered = 0;
  for (int i = 0; i < 4000; ++i) {
    std::vector<std::int64_t> counts(4);
    for (std::int64_t& count : counts) count = static_cast<std::int64_t>(rng.below(200));
    std::vector<TileShare> assignment;
    for (int e = 0; e < 4; ++e)
      for (int w = 0; w < 4; ++w)
        if (rng.below(2) == 0) assignment.push_back({e, w, 1 + static_cast<std::int64_t>(rng.below(4))});
    bool shared = true;
    try {
      token_shares(assignment, counts, 32, placement);
    } catch (const Error&) {
      shared = false;
    }
    EXPECT_EQ(covers_demand(assignment, counts, 32, placement), shared);
    covered += shared ? 1 : 0;
  }
  EXPECT_GT(covered, 200);
  EXPECT_LT(covered, 3800);
}

}  // namespace
}  // namespace afore
