// The two group transfers, worked out by hand: latency 100, one nanosecond per byte, ten bytes a row.
#include "device/sim/links.h"

#include <gtest/gtest.h>

namespace afore::device {
namespace {

using Times = std::vector<Nanos>;
using Rows = std::vector<std::int64_t>;

PipelineCost cost() {
  PipelineCost c;
  c.link_latency_ns = 100;
  c.link_ns_per_byte = 1;
  c.activation_bytes = 10;
  return c;
}

Times a2f(SimLinks& links, Nanos ready, const Rows& tokens, std::int64_t copies, const Rows& rows) {
  Times arrival;
  links.a2f(ready, tokens, copies, rows, arrival);
  return arrival;
}

TEST(SimLinks, AReceiverTakesItsOwnRows) {
  SimLinks links(cost(), 2, 2);
  // Each sender puts out 10 tokens twice (300), the receivers take 10 and 30 rows (200 and 400).
  EXPECT_EQ(a2f(links, 1000, {10, 10}, 2, {10, 30}), (Times{1300, 1400}));
}

TEST(SimLinks, NothingIsWholeBeforeTheSlowestSenderIsThrough) {
  SimLinks links(cost(), 2, 2);
  EXPECT_EQ(a2f(links, 0, {5, 50}, 1, {20, 35}), (Times{600, 600}));
}

TEST(SimLinks, TransfersOfOnePortFollowEachOther) {
  SimLinks links(cost(), 1, 2);
  EXPECT_EQ(a2f(links, 0, {10}, 1, {2, 8}), (Times{200, 200}));
  // The sender's port is free at 200: 200 + 200.
  EXPECT_EQ(a2f(links, 50, {10}, 1, {10, 0}), (Times{400, 400}));
  EXPECT_EQ(a2f(links, 1000, {10}, 1, {10, 0}), (Times{1200, 1200}));
}

TEST(SimLinks, ABusyReceiverDelaysOnlyItself) {
  SimLinks links(cost(), 1, 2);
  EXPECT_EQ(a2f(links, 0, {10}, 1, {90, 10}), (Times{1000, 200}));
  EXPECT_EQ(a2f(links, 300, {10}, 1, {10, 10}), (Times{1200, 500}));
}

TEST(SimLinks, ResultsLeaveAsEachWorkerIsDoneAndArriveTogether) {
  SimLinks links(cost(), 2, 2);
  EXPECT_EQ(links.f2a_send(0, 500, 20), 800);
  EXPECT_EQ(links.f2a_send(1, 600, 10), 800);
  Times arrival;
  links.f2a_arrive(600, 800, Rows{15, 15}, arrival);
  EXPECT_EQ(arrival, (Times{850, 850}));  // 600 + 100 + 150
  links.f2a_arrive(700, 1500, Rows{15, 15}, arrival);
  EXPECT_EQ(arrival, (Times{1500, 1500}));
}

TEST(SimLinks, OutPortsOfFfnWorkersAreFifo) {
  SimLinks links(cost(), 1, 2);
  EXPECT_EQ(links.f2a_send(0, 0, 50), 600);
  EXPECT_EQ(links.f2a_send(0, 100, 10), 800);
  EXPECT_EQ(links.f2a_send(1, 100, 10), 300);
}

TEST(SimLinks, DirectionsDoNotShareAPort) {
  SimLinks links(cost(), 1, 1);
  a2f(links, 0, {100}, 1, {100});
  EXPECT_EQ(links.f2a_send(0, 0, 10), 200);
}

}  // namespace
}  // namespace afore::device
