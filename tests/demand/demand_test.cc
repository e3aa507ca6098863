#include <gtest/gtest.h>

#include "demand/history.h"
#include "demand/project.h"

namespace afore::demand {
namespace {

Demand make(std::int64_t step, int layer, int microbatch, std::vector<std::int64_t> counts) {
  Demand demand;
  demand.target = {step, layer, microbatch};
  demand.counts = std::move(counts);
  return demand;
}

TEST(LastStep, RemembersTheSameLayerAndMicrobatch) {
  LastStep history;
  history.observe(make(0, 1, 0, {3, 1}));
  history.observe(make(0, 1, 1, {0, 4}));
  std::vector<std::int64_t> counts;
  history.guess({1, 1, 0}, 2, counts);
  EXPECT_EQ(counts, (std::vector<std::int64_t>{3, 1}));
  history.guess({1, 2, 0}, 2, counts);
  EXPECT_EQ(counts, (std::vector<std::int64_t>{0, 0}));
}

TEST(Window, DropsStepsThatLeaveAndAveragesPerTarget) {
  Window window(2);
  window.observe(make(0, 1, 0, {100, 0}));
  window.observe(make(1, 1, 0, {2, 6}));
  window.observe(make(1, 1, 1, {4, 4}));
  window.observe(make(2, 1, 0, {3, 5}));
  std::vector<std::int64_t> counts;
  window.sum(1, 2, counts);
  EXPECT_EQ(counts, (std::vector<std::int64_t>{9, 15}));
  window.guess({3, 1, 0}, 2, counts);
  EXPECT_EQ(counts, (std::vector<std::int64_t>{3, 5}));
}

TEST(ProjectShares, KeepsProportionsSumsExactlyAndSendsUnseenToPrimary) {
  LayerPlacement placement = LayerPlacement::initial(3, 3, 1);
  placement.set(1, 1, 0);
  placement.set(2, 1, 0);
  const std::vector<TileShare> guess = {{0, 0, 1}, {0, 1, 1}, {0, 2, 2}, {1, 1, 5}};
  const std::vector<std::int64_t> truth = {7, 0, 2};
  const auto shares = project_shares(guess, truth, placement);
  EXPECT_EQ(shares, (std::vector<TileShare>{{0, 0, 2}, {0, 1, 2}, {0, 2, 3}, {2, 2, 2}}));
}

}  // namespace
}  // namespace afore::demand
