#include "batch/prefill.h"

#include <gtest/gtest.h>

namespace afore::batch {
namespace {

const std::vector<Request> kRequests = {{0, 4, 5, 0}, {0, 4, 2, 5}, {0, 4, 6, 7}};

TEST(Prefill, ChunksFollowTheFileAndCountTheCache) {
  PrefillComposer composer(kRequests, PhaseSchedule({{{0}, 9}}, 0, 9), {.chunk_tokens = 3, .microbatches = 2});
  auto step = composer.next_step();
  EXPECT_EQ(step[0].rows.front().row, 0);
  EXPECT_EQ(step[0].rows.back().row, 2);
  EXPECT_EQ(step[0].sequences, 1);
  EXPECT_EQ(step[0].kv_tokens, 0);
  EXPECT_EQ(step[0].admitted, (std::vector<std::int64_t>{0}));
  EXPECT_TRUE(step[0].finished.empty());
  EXPECT_EQ(step[1].rows.back().row, 5);
  EXPECT_EQ(step[1].sequences, 2);
  EXPECT_EQ(step[1].kv_tokens, 3);  // the first request's earlier chunk
  EXPECT_EQ(step[1].prefill_tokens, 3);
  EXPECT_EQ(step[1].admitted, (std::vector<std::int64_t>{1}));
  EXPECT_EQ(step[1].finished, (std::vector<std::int64_t>{0}));
}

TEST(Prefill, TheFileRepeatsWithoutAGap) {
  PrefillComposer composer(kRequests, PhaseSchedule({{{0}, 99}}, 0, 99), {.chunk_tokens = 4, .microbatches = 1});
  std::int64_t expected = 0;
  for (int s = 0; s < 20; ++s)
    for (const TokenRow& row : composer.next_step()[0].rows) EXPECT_EQ(row.row, expected++ % 13);
  EXPECT_EQ(composer.repeats(), 3 * 6 + 1 - 3);  // 80 rows begin the 19th request
}

TEST(Prefill, PoolsAlternateAndAPhaseChangeCutsTheRequestAtHand) {
  const std::vector<Request> requests = {{0, 1, 4, 0}, {1, 1, 4, 0}};
  PrefillComposer composer(requests, PhaseSchedule({{{0, 1}, 1}, {{1}, 1}}, 0, 2),
                           {.chunk_tokens = 6, .microbatches = 1});
  const auto first = composer.next_step()[0];
  EXPECT_EQ(first.rows[3].pool, 0);
  EXPECT_EQ(first.rows[4].pool, 1);
  EXPECT_EQ(first.finished, (std::vector<std::int64_t>{0, 1}));
  const auto second = composer.next_step()[0];
  EXPECT_EQ(second.rows[0].pool, 1);
  EXPECT_EQ(second.rows[0].row, 0);
}

}  // namespace
}  // namespace afore::batch
