// The all-to-alls among ranks, worked out by hand: latency 100, one nanosecond per byte, ten bytes a row.
#include "device/sim/all_to_all.h"

#include <gtest/gtest.h>

#include <numeric>

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

Times dispatch(AllToAll& links, Nanos ready, const Rows& out, const Rows& in) {
  Times arrival;
  links.dispatch(ready, out, in, arrival);
  return arrival;
}

TravellingRows travelling(const Rows& tokens, const Rows& pairs) {
  TravellingRows rows;
  count_travelling(tokens, pairs, rows);
  return rows;
}

TEST(AllToAll, RowsWhoseExpertIsAtHomeDoNotTravel) {
  // Rank 0 has a quarter of the tokens, so of every rank's pairs.
  const TravellingRows rows = travelling({1, 3}, {8, 4});
  EXPECT_EQ(rows.out, (Rows{1, 6}));
  EXPECT_EQ(rows.in, (Rows{6, 1}));
  EXPECT_EQ(travelling({5}, {40}).out, Rows{0}) << "a rank alone";
  EXPECT_EQ(travelling({0, 4}, {8, 0}).in, (Rows{8, 0})) << "a rank without tokens";
  EXPECT_EQ(travelling({0, 0}, {0, 0}).out, (Rows{0, 0}));
}

TEST(AllToAll, WhatLeavesArrives) {
  std::uint64_t state = 1;
  const auto draw = [&](std::int64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::int64_t>((state >> 33) % static_cast<std::uint64_t>(below));
  };
  for (int round = 0; round < 500; ++round) {
    Rows tokens(1 + draw(9)), pairs(tokens.size());
    for (std::int64_t& t : tokens) t = draw(40);
    for (std::int64_t& p : pairs) p = draw(200);
    const std::int64_t all = std::accumulate(tokens.begin(), tokens.end(), std::int64_t{0});
    const TravellingRows rows = travelling(tokens, pairs);
    std::int64_t out = 0, in = 0, home = 0, before = 0;
    for (std::size_t r = 0; r < tokens.size(); ++r) {
      ASSERT_GE(rows.out[r], 0);
      ASSERT_LE(rows.in[r], pairs[r]);
      out += rows.out[r];
      in += rows.in[r];
      if (all > 0) home += pairs[r] * (before + tokens[r]) / all - pairs[r] * before / all;
      before += tokens[r];
    }
    ASSERT_EQ(out, in);
    if (all > 0) {
      ASSERT_EQ(out + home, std::accumulate(pairs.begin(), pairs.end(), std::int64_t{0}));
    }
  }
}

TEST(AllToAll, NothingIsWholeBeforeTheSlowestSenderIsThrough) {
  AllToAll links(cost(), 2);
  EXPECT_EQ(dispatch(links, 1000, {5, 50}, {50, 5}), (Times{1600, 1600}));
  AllToAll three(cost(), 3);
  // Senders are through at 200, a receiver of more takes longer.
  EXPECT_EQ(dispatch(three, 0, {10, 10, 10}, {0, 0, 30}), (Times{200, 200, 400}));
}

TEST(AllToAll, DispatchAndCombineShareTheirPorts) {
  AllToAll links(cost(), 2);
  EXPECT_EQ(dispatch(links, 0, {10, 20}, {20, 10}), (Times{300, 300}));  // out of rank 0 until 200
  EXPECT_EQ(links.combine_send(0, 150, 20), 500);                        // behind it: 200 + 100 + 200
  EXPECT_EQ(links.combine_send(1, 400, 10), 600);
  Times arrival;
  links.combine_arrive(400, 600, Rows{10, 20}, arrival);
  EXPECT_EQ(arrival, (Times{600, 700}));
  // In ports are taken until 600 and 700, out ports until 500 and 600.
  EXPECT_EQ(dispatch(links, 450, {10, 10}, {10, 10}), (Times{800, 900}));
}

TEST(AllToAll, CopiesAreInTheWayOfAllFourTransfers) {
  CopyTraffic traffic(2, 100);
  PipelineCost c = cost();
  c.link_latency_ns = 0;
  AllToAll links(c, 2, &traffic);
  const CopyId id{0, 0};
  traffic.started(id, {5, 0, 1, 2}, 0, 0);                            // out of rank 0, into rank 1
  EXPECT_EQ(dispatch(links, 10, {2, 2}, {2, 2}), (Times{120, 120}));  // both wait for the chunk until 100
  EXPECT_EQ(links.remaining_out(0, 110), 10);
  EXPECT_EQ(links.remaining_out(1, 110), 0);
  EXPECT_EQ(links.remaining_in(1, 110), 10);
  EXPECT_EQ(links.combine_send(0, 310, 3), 430);
  EXPECT_EQ(links.combine_send(1, 310, 3), 340);
  EXPECT_EQ(traffic.take_delay(id), 20 + 20 + 30);
}

}  // namespace
}  // namespace afore::device
