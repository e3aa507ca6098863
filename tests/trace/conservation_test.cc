#include "trace/conservation.h"

#include <gtest/gtest.h>

#include <vector>

#include "util/error.h"

namespace afore::trace {
namespace {

std::string message_of(const std::vector<std::int64_t>& counts, int top_k) {
  try {
    tokens_of(counts, top_k, false, "f.json: layer 3");
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Conservation, WholeTokens) {
  const std::vector<std::int64_t> counts = {4, 2, 2};
  const TokenCount whole = tokens_of(counts, 2, false, "f");
  EXPECT_EQ(whole.tokens, 4);
  EXPECT_EQ(whole.dropped, 0);
}

TEST(Conservation, RefusesWhatNoRunCanHaveCounted) {
  EXPECT_EQ(message_of({2, 1}, 2), "f.json: layer 3: 3 assignments are not a multiple of top 2");
  EXPECT_EQ(message_of({3, 1}, 2), "f.json: layer 3: expert 0 has 3 assignments of 2 tokens");
}

TEST(Conservation, LostAssignmentsAreCounted) {
  const std::vector<std::int64_t> odd = {2, 1}, skewed = {3, 1};
  EXPECT_EQ(tokens_of(odd, 2, true, "f").tokens, 2);
  EXPECT_EQ(tokens_of(odd, 2, true, "f").dropped, 1);
  EXPECT_EQ(tokens_of(skewed, 2, true, "f").tokens, 3);  // expert 0 was chosen by three tokens
  EXPECT_EQ(tokens_of(skewed, 2, true, "f").dropped, 2);
}

}  // namespace
}  // namespace afore::trace
