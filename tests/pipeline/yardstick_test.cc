#include "pipeline/yardstick.h"

#include "fixtures.h"

namespace afore::pipeline {
namespace {

// Experts 0 and 1 on worker 0: 10 + 2 tiles of 100 ns and two activations of 5 there, 1 + 1 on worker 1.
TEST(Yardstick, StandsStillOrSharesEverything) {
  Yardstick yardstick(cluster(1, 2, 1, 64, 1), small_cost(), Objective::time);
  const YardTimes times = yardstick.measure(demand({0, 0, 0}, {640, 128, 64, 64}));
  EXPECT_EQ(times.static_tiles, 12);
  EXPECT_EQ(times.static_ns, 10 + 12 * 100 + 2 * 5);
  EXPECT_EQ(times.ideal_tiles, 7);
  EXPECT_GE(times.ideal_ns, 10 + 7 * 100 + 5);
  EXPECT_LT(times.ideal_ns, 10 + 8 * 100);
}

TEST(Yardstick, IsFreeOfWhatCameBefore) {
  Yardstick used(cluster(1, 2, 1, 64, 1), small_cost(), Objective::tiles);
  for (const std::vector<std::int64_t>& counts :
       {std::vector<std::int64_t>{64, 0, 0, 640}, {1, 2, 3, 4}, {0, 0, 0, 0}}) {
    Yardstick fresh(cluster(1, 2, 1, 64, 1), small_cost(), Objective::tiles);
    const YardTimes a = used.measure(demand({0, 0, 0}, counts)), b = fresh.measure(demand({0, 0, 0}, counts));
    EXPECT_EQ(a.static_ns, b.static_ns);
    EXPECT_EQ(a.ideal_ns, b.ideal_ns);
    EXPECT_EQ(a.static_tiles, b.static_tiles);
    EXPECT_EQ(a.ideal_tiles, b.ideal_tiles);
  }
}

TEST(Yardstick, WarmupIsNotMeasured) {
  Yardstick yardstick(cluster(1, 2, 1, 64, 1), small_cost(), Objective::time);
  Demand warm = demand({0, 0, 0}, {640, 128, 64, 64});
  warm.phase = Phase::warmup;
  EXPECT_EQ(yardstick.measure(warm).static_ns, 0);
  EXPECT_EQ(yardstick.measure(warm).ideal_ns, 0);
}

}  // namespace
}  // namespace afore::pipeline
