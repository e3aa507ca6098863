// Copies and hidden states on one link: who waits for whom, worked out by hand.
#include "device/sim/copy_traffic.h"

#include <gtest/gtest.h>

#include "device/sim/links.h"

namespace afore::device {
namespace {

using Way = CopyTraffic::Way;
const CopyId kCopy{0, 0};
const Copy kFrom0To1{5, 0, 1, 2};

TEST(CopyTraffic, ATransferWaitsForTheChunkAndTheCopyForTheTransfer) {
  CopyTraffic traffic(2, 100);
  traffic.started(kCopy, kFrom0To1, 1'000, 0);
  EXPECT_EQ(traffic.go_ahead(1, Way::out, 1'030, 40), 0);  // the other way is free
  EXPECT_EQ(traffic.go_ahead(0, Way::in, 1'030, 40), 0);
  EXPECT_EQ(traffic.go_ahead(1, Way::in, 1'030, 40), 70);
  EXPECT_EQ(traffic.go_ahead(0, Way::out, 1'200, 7), 0);  // between two chunks
  EXPECT_EQ(traffic.take_delay(kCopy), 47);
  EXPECT_EQ(traffic.go_ahead(1, Way::in, 1'540, 9), 60);
  EXPECT_EQ(traffic.take_delay(kCopy), 9);
  EXPECT_EQ(traffic.take_delay(kCopy), 0);
  EXPECT_EQ(traffic.go_ahead(1, Way::in, 1'700, 40), 0);
  EXPECT_ANY_THROW(traffic.take_delay(kCopy));
}

TEST(CopyTraffic, ACopyStartsBehindTheTransferThatIsUnderWay) {
  CopyTraffic traffic(2, 100);
  traffic.started(kCopy, kFrom0To1, 1'000, 30);
  EXPECT_EQ(traffic.go_ahead(1, Way::in, 1'020, 5), 0);
  EXPECT_EQ(traffic.go_ahead(1, Way::in, 1'080, 5), 50);
  EXPECT_EQ(traffic.take_delay(kCopy), 40);
}

// One attention worker, two FFN workers, 10 bytes a row at 1 byte per ns and no latency.
TEST(CopyTraffic, DelaysTheHiddenStatesOfItsWorkersOnly) {
  PipelineCost cost;
  cost.activation_bytes = 10;
  cost.link_ns_per_byte = 1;
  CopyTraffic traffic(2, 100);
  SimLinks links(cost, 1, 2, &traffic);
  traffic.started(kCopy, kFrom0To1, 0, 0);
  std::vector<Nanos> arrival;
  links.a2f(10, std::vector<std::int64_t>{4}, 1, std::vector<std::int64_t>{4, 4}, arrival);
  EXPECT_EQ(arrival, (std::vector<Nanos>{50, 140}));  // the copy comes in on worker 1
  EXPECT_EQ(links.remaining_in(1, 120), 20);
  EXPECT_EQ(links.remaining_in(1, 50), 40);   // it is not on the link yet, but holds it
  EXPECT_EQ(links.f2a_send(0, 150, 2), 220);  // and out of worker 0
  EXPECT_EQ(links.f2a_send(1, 150, 2), 170);
  EXPECT_EQ(traffic.take_delay(kCopy), 60);
}

}  // namespace
}  // namespace afore::device
