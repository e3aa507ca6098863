// Streams that begin in the midst of a run, as an endpoint's live records do: what was before is not known.
#include <gtest/gtest.h>

#include "streams.h"

namespace afore::verify {
namespace {

template <class T>
T& at(Stream& stream, std::size_t index) {
  return std::get<T>(stream.at(index));
}

// What a levelled plan takes to be left of earlier targets can be checked where all of them are in the stream.
TEST(JoinedStream, BacklogIsCheckedFromTheStartOfARun) {
  Stream stream = copy_stream(Objective::time);
  for (const std::size_t index : {2, 5}) {
    Plan& plan = at<Plan>(stream, index);
    plan.backlog_ns = {100, 0};
    plan.completion_ns = 515;  // worker 0: 100 + 10 + 4 * 100 + 5; worker 1: 420
  }
  EXPECT_EQ(verdict(stream), "");
  at<Plan>(stream, 2).seq = 0;
  at<Plan>(stream, 5).seq = 1;
  at<Observed>(stream, 3).seq = 0;
  EXPECT_EQ(verdict(stream), "step 17 layer 3 microbatch 0: backlog_ns of worker 0 is 100, expected 0");
}

// The stream begins with plan 40 in step 17.
TEST(JoinedStream, WhatEarlierStepsCameToIsPassedOver) {
  Stream stream = copy_stream(Objective::tiles);
  Observed& observed = at<Observed>(stream, 3);
  observed.seq = 39;
  EXPECT_EQ(verdict(stream),
            "step 17 layer 3 microbatch 0: observed refers to plan 39, which the stream does not have");
  observed.target.step = 16;
  EXPECT_EQ(verdict(stream), "");
}

}  // namespace
}  // namespace afore::verify
