// One writer, every reader reads every plan in order, and a slot is reused only when all have read it.
#include "pipeline/plan_ring.h"

#include "fixtures.h"

namespace afore::pipeline {
namespace {

PlanPtr numbered(std::int64_t serial) { return published(serial, {serial, 0, 0}, {}, {}, 1); }

TEST(PlanRing, EveryReaderTakesEveryPlanInOrder) {
  PlanRing ring(2, 3);
  ring.publish(numbered(0));
  ring.publish(numbered(1));
  for (int reader = 0; reader < 3; ++reader) {
    EXPECT_EQ(ring.take(reader)->serial, 0);
    EXPECT_EQ(ring.take(reader)->serial, 1);
    EXPECT_EQ(ring.take(reader), nullptr);
  }
}

TEST(PlanRing, ASlotIsReusedOnlyAfterItsLastReader) {
  PlanRing ring(2, 2);
  ring.publish(numbered(0));
  ring.publish(numbered(1));
  EXPECT_TRUE(ring.full());
  EXPECT_NE(error_of([&] { ring.publish(numbered(2)); }, ErrorKind::internal), "no error");
  ring.take(0);
  ring.take(0);
  EXPECT_TRUE(ring.full());  // the other reader has not
  EXPECT_EQ(ring.take(1)->serial, 0);
  EXPECT_FALSE(ring.full());
  ring.publish(numbered(2));
  EXPECT_TRUE(ring.full());
  EXPECT_EQ(ring.take(0)->serial, 2);
  EXPECT_EQ(ring.take(1)->serial, 1);
  EXPECT_EQ(ring.take(1)->serial, 2);
}

TEST(PlanRing, ANewEpochVoidsWhatWasNotTakenAndForgetsTheLost) {
  PlanRing ring(2, 2);
  ring.publish(numbered(0));
  ring.publish(numbered(1));
  ring.take(0);
  ring.lose(1);
  ring.clear();
  EXPECT_EQ(ring.take(0), nullptr);
  EXPECT_EQ(ring.take(1), nullptr);
  for (std::int64_t serial = 2; serial < 8; ++serial) {
    EXPECT_FALSE(ring.full());
    ring.publish(numbered(serial));
    EXPECT_EQ(ring.take(0)->serial, serial);
    EXPECT_EQ(ring.take(1), nullptr);
  }
}

TEST(PlanRing, ManyRoundsAtAnyPace) {
  Draw draw{5};
  PlanRing ring(3, 4);
  std::vector<std::int64_t> next(4, 0);
  std::int64_t published_count = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::int64_t slowest = *std::min_element(next.begin(), next.end());
    ASSERT_EQ(ring.full(), published_count - slowest == 3);
    if (!ring.full() && draw(2) == 0) ring.publish(numbered(published_count++));
    const int reader = static_cast<int>(draw(4));
    const PlanPtr plan = ring.take(reader);
    if (next[reader] == published_count) ASSERT_EQ(plan, nullptr);
    else ASSERT_EQ(plan->serial, next[reader]++);
  }
  EXPECT_GT(published_count, 1'000);
}

}  // namespace
}  // namespace afore::pipeline
