#include "trace/aggregate.h"

#include <gtest/gtest.h>

#include "util/error.h"

namespace afore::trace {
namespace {

std::string message_of(const std::vector<std::vector<std::int64_t>>& rows, int top_k) {
  try {
    make_aggregate(rows, top_k, "f.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Aggregate, DropsDenseRowsAndCountsTokens) {
  const Aggregate a = make_aggregate({{0, 0, 0}, {4, 2, 2}, {0, 0, 0}, {10'000'000, 10'000'000, 0}}, 2, "f");
  EXPECT_EQ(a.moe_layers, (std::vector<int>{1, 3}));
  EXPECT_EQ(a.dense_layers, (std::vector<int>{0, 2}));
  EXPECT_EQ(a.tokens, (std::vector<std::int64_t>{4, 10'000'000}));
  EXPECT_EQ(a.counts[0], (std::vector<std::int64_t>{4, 2, 2}));
}

TEST(Aggregate, RefusesWhatNoRunCanHaveCounted) {
  EXPECT_EQ(message_of({{0, 0}, {2, 1}}, 2), "f.json: /logical_count/1: 3 assignments are not a multiple of top 2");
  EXPECT_EQ(message_of({{3, 1}}, 2), "f.json: /logical_count/0: expert 0 has 3 assignments of 2 tokens");
  EXPECT_EQ(message_of({{1, 1}, {1, 1, 2}}, 1), "f.json: /logical_count/1: 3 experts, but 2 in layer 0");
  EXPECT_EQ(message_of({{0, 0}, {0, 0}}, 1), "f.json: no layer has any assignment");
}

}  // namespace
}  // namespace afore::trace
