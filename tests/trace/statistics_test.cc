#include "trace/statistics.h"

#include <gtest/gtest.h>

namespace afore::trace {
namespace {

TEST(Statistics, ImbalanceAndBalancednessByHand) {
  Statistics statistics(/*workers=*/2, /*hot=*/1);
  statistics.add({0, 5, 0}, 4, std::vector<std::int64_t>{3, 1, 0, 0});  // max 3 mean 1; workers 4 and 0
  statistics.add({0, 5, 1}, 4, std::vector<std::int64_t>{0, 1, 1, 2});  // max 2 mean 1; workers 1 and 3
  const LayerStatistics layer = statistics.layers().at(0);
  EXPECT_EQ(layer.layer, 5);
  EXPECT_EQ(layer.targets, 2);
  EXPECT_EQ(layer.tokens, 8);
  EXPECT_DOUBLE_EQ(layer.imbalance(), 2.5);
  EXPECT_DOUBLE_EQ(layer.balancedness(), (2.0 + 2.0) / (4 + 3));
  EXPECT_EQ(layer.counts, (std::vector<std::int64_t>{3, 2, 1, 2}));
  EXPECT_EQ(layer.reuse_targets, 0);
}

TEST(Statistics, ReuseComparesTheSameLayerAndMicrobatchOneStepEarlier) {
  Statistics statistics(2, 2);
  statistics.add({0, 1, 0}, 1, std::vector<std::int64_t>{9, 8, 0, 0});
  statistics.add({0, 1, 1}, 1, std::vector<std::int64_t>{0, 0, 9, 9});
  statistics.add({1, 1, 0}, 1, std::vector<std::int64_t>{9, 0, 8, 0});  // half of {0, 1}
  statistics.add({1, 1, 1}, 1, std::vector<std::int64_t>{0, 0, 1, 2});  // all of {2, 3}
  statistics.add({3, 1, 0}, 1, std::vector<std::int64_t>{9, 0, 8, 0});  // no step 2 to compare with
  const LayerStatistics layer = statistics.layers().at(0);
  EXPECT_EQ(layer.reuse_targets, 2);
  EXPECT_DOUBLE_EQ(layer.reuse(), 0.75);
}

TEST(Statistics, TiesGoToTheLowerIndexAndTotalsAddUp) {
  Statistics statistics(1, 1);
  statistics.add({0, 1, 0}, 2, std::vector<std::int64_t>{1, 1});
  statistics.add({1, 1, 0}, 2, std::vector<std::int64_t>{2, 2});
  statistics.add({1, 2, 0}, 2, std::vector<std::int64_t>{0, 0});  // nothing to do: counted, not averaged
  const LayerStatistics total = statistics.total();
  EXPECT_EQ(total.targets, 3);
  EXPECT_EQ(total.tokens, 6);
  EXPECT_DOUBLE_EQ(total.reuse(), 1);
  EXPECT_DOUBLE_EQ(total.imbalance(), 1);
  EXPECT_DOUBLE_EQ(total.balancedness(), 1);
  EXPECT_DOUBLE_EQ(statistics.layers().at(1).imbalance(), 0);
}

}  // namespace
}  // namespace afore::trace
