#include "demand/blocks.h"

#include <gtest/gtest.h>

#include "util/error.h"

namespace afore::demand {
namespace {

Demand demand(std::int64_t step, int layer, std::vector<std::int64_t> counts) {
  Demand d;
  d.target = {step, layer, 0};
  d.counts = std::move(counts);
  return d;
}

TEST(Blocks, FewStepsAreBlocksOfTheirOwn) {
  Blocks blocks;
  blocks.observe(demand(0, 1, {1, 2}));
  blocks.observe(demand(0, 1, {10, 20}));  // another microbatch
  blocks.observe(demand(5, 1, {3, 4}));
  blocks.observe(demand(5, 2, {5, 6}));
  EXPECT_EQ(blocks.steps(), 2);
  EXPECT_EQ(blocks.layers().at(1), (std::vector<std::int64_t>{11, 22, 3, 4}));
  EXPECT_EQ(blocks.layers().at(2), (std::vector<std::int64_t>{0, 0, 5, 6}));
}

TEST(Blocks, ManyStepsMergeWithoutLoss) {
  for (const int steps : {32, 33, 63, 64, 65, 1000}) {
    Blocks blocks;
    for (int step = 0; step < steps; ++step) blocks.observe(demand(step, 0, {step, 1}));
    const std::vector<std::int64_t>& loads = blocks.layers().at(0);
    ASSERT_EQ(loads.size(), 2 * blocks.blocks());
    EXPECT_LE(blocks.blocks(), Blocks::kMostBlocks);
    if (steps >= 32) {
      EXPECT_GT(blocks.blocks(), Blocks::kMostBlocks / 2);
    }
    std::int64_t sum = 0, count = 0, before = -1;
    for (std::size_t b = 0; b < blocks.blocks(); ++b) {
      sum += loads[2 * b];
      count += loads[2 * b + 1];
      if (b + 1 < blocks.blocks()) {  // the last one may be short
        EXPECT_GT(loads[2 * b], before) << "blocks are in the order of steps";
        EXPECT_EQ(loads[2 * b + 1], loads[1]);
        before = loads[2 * b];
      }
    }
    EXPECT_EQ(sum, std::int64_t{steps} * (steps - 1) / 2);
    EXPECT_EQ(count, steps);
  }
}

TEST(Blocks, RefusesSumsThatWouldOverflow) {
  Blocks blocks;
  blocks.observe(demand(0, 0, {std::int64_t{1} << 60}));
  EXPECT_THROW(blocks.observe(demand(0, 0, {1})), Error);
}

}  // namespace
}  // namespace afore::demand
