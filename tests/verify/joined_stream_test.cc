// Streams that begin in the midst of a run, as an endpoint's live records do: what was before is not known.
#include <gtest/gtest.h>

#include "streams.h"

namespace afore::verify {
namespace {

template <class T>
T& at(Stream& stream, std::size_t index) {
  return std::get<T>(stream.at(index));
}

constexpr std::int64_t kLater = 40;  // the number of the first plan

// What a levelled plan takes to be left of earlier targets can be checked where all of them are in the stream.
TEST(JoinedStream, BacklogIsCheckedFromTheStartOfARun) {
  for (const std::int64_t seq : {std::int64_t{0}, kLater}) {
    Stream stream = copy_stream(Objective::time, seq);
    for (const std::size_t index : {2, 5}) {
      Plan& plan = at<Plan>(stream, index);
      plan.backlog_ns = {100, 0};
      plan.completion_ns = 515;  // worker 0: 100 + 10 + 4 * 100 + 5; worker 1: 420
    }
    EXPECT_EQ(verdict(stream),
              seq == 0 ? "step 17 layer 3 microbatch 0: backlog_ns of worker 0 is 100, expected 0" : "");
  }
}

// A bound may be larger where targets before the stream's beginning work in slots: of two microbatches, for one target.
TEST(JoinedStream, BoundsAreCheckedOnceTheSlotsAtWorkAreKnown) {
  const auto verdict_with_bound = [](std::int64_t seq, std::size_t index) {
    Stream stream = copy_stream(Objective::time, seq);
    at<Plan>(stream, index).ffn_bound_ns += 11;
    return verdict(stream);
  };
  EXPECT_NE(verdict_with_bound(0, 2), "");
  EXPECT_EQ(verdict_with_bound(kLater, 2), "");
  EXPECT_NE(verdict_with_bound(0, 5), "");
  EXPECT_NE(verdict_with_bound(kLater, 5), "");
}

TEST(JoinedStream, WhatEarlierStepsCameToIsPassedOver) {
  Stream stream = copy_stream(Objective::tiles, kLater);
  Observed& observed = at<Observed>(stream, 3);
  observed.seq = 39;
  EXPECT_EQ(verdict(stream),
            "step 17 layer 3 microbatch 0: observed refers to plan 39, which the stream does not have");
  observed.target.step = 16;
  EXPECT_EQ(verdict(stream), "");
}

}  // namespace
}  // namespace afore::verify
