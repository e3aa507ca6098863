#include "batch/continuous.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "util/error.h"

namespace afore::batch {
namespace {

std::vector<Request> make_requests(int count, int pool = 0) {
  std::vector<Request> requests;
  std::int64_t row = 0;
  for (int r = 0; r < count; ++r) {
    const std::int64_t tokens = 3 + (r * 7) % 11;
    requests.push_back({pool, 10 + r, tokens, row});
    row += tokens;
  }
  return requests;
}

PhaseSchedule one_pool() { return PhaseSchedule({{{0}, 1000}}, 0, 1000); }

int request_of(const std::vector<Request>& requests, const TokenRow& row) {
  for (std::size_t r = 0; r < requests.size(); ++r) {
    const Request& q = requests[r];
    if (q.pool == row.pool && row.row >= q.first_row && row.row < q.first_row + q.tokens) return static_cast<int>(r);
  }
  return -1;
}

TEST(Continuous, LiveCountIsConstantAndTheFirstMicrobatchesGetOneMore) {
  const auto requests = make_requests(9);
  ContinuousComposer composer(requests, one_pool(), {.concurrent = 8, .microbatches = 3, .seed = 1});
  for (int step = 0; step < 60; ++step) {
    const auto out = composer.next_step();
    ASSERT_EQ(out.size(), 3u);
    EXPECT_EQ(out[0].sequences, 3);
    EXPECT_EQ(out[1].sequences, 3);
    EXPECT_EQ(out[2].sequences, 2);
    for (const MicrobatchStep& m : out) {
      EXPECT_EQ(m.rows.size(), static_cast<std::size_t>(m.sequences));
      EXPECT_EQ(m.prefill_tokens, 0);
    }
  }
}

// One slot shows one request after the other.
TEST(Continuous, TokensOfARequestComeInOrderAndTheNextStartsAtItsFirst) {
  const auto requests = make_requests(5);
  ContinuousComposer composer(requests, one_pool(), {.concurrent = 1, .microbatches = 1, .seed = 4});
  std::int64_t row = composer.next_step()[0].rows[0].row;
  EXPECT_EQ(request_of(requests, {0, row}), 0);
  std::int64_t total = 0;
  for (const Request& r : requests) total += r.tokens;
  for (; row + 1 < total; ++row) {  // file order, no gap from wherever the first one was met
    const MicrobatchStep& out = composer.next_step()[0];
    EXPECT_EQ(out.rows[0].row, row + 1);
    const Request& r = requests[request_of(requests, out.rows[0])];
    EXPECT_EQ(out.kv_tokens, r.prompt_tokens + (row + 1 - r.first_row));
    EXPECT_EQ(out.admitted.size(), row + 1 == r.first_row ? 1u : 0u);
    EXPECT_EQ(out.finished.size(), row + 2 == r.first_row + r.tokens ? 1u : 0u);
  }
  EXPECT_EQ(composer.repeats(), 0);
  composer.next_step();
  EXPECT_EQ(composer.repeats(), 1);
}

TEST(Continuous, RepeatsStayInTheirRequestAndCoverItOnce) {
  const std::vector<Request> requests = {{0, 5, 7, 0}};
  ContinuousComposer composer(requests, one_pool(), {.concurrent = 1, .microbatches = 1, .seed = 9});
  std::int64_t row = -1;
  while (composer.repeats() == 0) row = composer.next_step()[0].rows[0].row;
  std::set<std::int64_t> starts;
  for (int repeat = 0; repeat < 40; ++repeat) {
    starts.insert(row);
    std::set<std::int64_t> rows = {row};
    for (int i = 0; i < 6; ++i) {
      const MicrobatchStep& out = composer.next_step()[0];
      EXPECT_EQ(out.rows[0].row, (row + i + 1) % 7);
      EXPECT_EQ(out.kv_tokens, 5 + i + 1);  // grows whatever row is read
      rows.insert(out.rows[0].row);
    }
    EXPECT_EQ(rows.size(), 7u);
    row = composer.next_step()[0].rows[0].row;
  }
  EXPECT_GE(starts.size(), 6u);  // seeded starts, not always the same row
  EXPECT_EQ(composer.repeats(), 41);
}

TEST(Continuous, MoreLiveRequestsThanRecordedOnesCountAsRepeats) {
  const auto requests = make_requests(4);
  ContinuousComposer composer(requests, one_pool(), {.concurrent = 10, .microbatches = 2, .seed = 2});
  composer.next_step();
  EXPECT_EQ(composer.repeats(), 6);
}

TEST(Continuous, StartsAreStaggeredSoFinishesSpreadOut) {
  std::vector<Request> requests;
  for (int r = 0; r < 400; ++r) requests.push_back({0, 8, 40, r * 40});
  ContinuousComposer composer(requests, one_pool(), {.concurrent = 200, .microbatches = 1, .seed = 3});
  std::size_t most = 0, all = 0;
  for (int step = 0; step < 40; ++step) {
    const std::size_t finished = composer.next_step()[0].finished.size();
    most = std::max(most, finished);
    all += finished;
  }
  EXPECT_EQ(all, 200u);  // each finishes once in a lifetime
  EXPECT_LE(most, 16u);  // 5 a step on average
}

TEST(Continuous, AdmissionsAndFinishesBalance) {
  const auto requests = make_requests(12);
  ContinuousComposer composer(requests, one_pool(), {.concurrent = 6, .microbatches = 3, .seed = 5});
  std::set<std::int64_t> live;
  std::int64_t next = 0;
  for (int step = 0; step < 100; ++step) {
    const auto out = composer.next_step();
    std::vector<std::int64_t> ended;
    std::set<std::int64_t> admitted;
    for (const MicrobatchStep& m : out) {
      admitted.insert(m.admitted.begin(), m.admitted.end());
      ended.insert(ended.end(), m.finished.begin(), m.finished.end());
    }
    for (const std::int64_t id : admitted) EXPECT_EQ(id, next++);
    live.insert(admitted.begin(), admitted.end());
    EXPECT_EQ(live.size(), 6u);
    for (const std::int64_t id : ended) EXPECT_EQ(live.erase(id), 1u);
  }
}

TEST(Continuous, SameSeedSameSteps) {
  const auto requests = make_requests(9);
  const ContinuousOptions options{.concurrent = 7, .microbatches = 2, .seed = 6};
  ContinuousComposer a(requests, one_pool(), options), b(requests, one_pool(), options);
  ContinuousComposer other(requests, one_pool(), {.concurrent = 7, .microbatches = 2, .seed = 7});
  bool differs = false;
  for (int step = 0; step < 50; ++step) {
    const auto x = a.next_step(), y = b.next_step(), z = other.next_step();
    for (int m = 0; m < 2; ++m)
      for (std::size_t i = 0; i < x[m].rows.size(); ++i) {
        EXPECT_EQ(x[m].rows[i].row, y[m].rows[i].row);
        differs |= x[m].rows[i].row != z[m].rows[i].row;
      }
  }
  EXPECT_TRUE(differs);
}

std::vector<Request> two_pools() {
  auto requests = make_requests(10, 0);
  const auto second = make_requests(10, 1);
  requests.insert(requests.end(), second.begin(), second.end());
  return requests;
}

std::map<int, int> pools_of(std::span<const MicrobatchStep> step) {
  std::map<int, int> count;
  for (const MicrobatchStep& m : step)
    for (const TokenRow& row : m.rows) ++count[row.pool];
  return count;
}

TEST(Continuous, AbruptPhasesSwitchAllLiveRequestsAtTheBorder) {
  const auto requests = two_pools();
  const PhaseSchedule schedule({{{0}, 5}, {{1}, 5}, {{0, 1}, 10}}, /*warmup_steps=*/2, /*total_steps=*/22);
  ContinuousComposer composer(requests, schedule, {.concurrent = 8, .microbatches = 2, .seed = 1});
  for (int step = 0; step < 22; ++step) {
    const auto out = composer.next_step();
    auto pools = pools_of(out);
    if (step < 7) {
      EXPECT_EQ(pools[0], 8) << step;
    }
    if (step >= 7 && step < 12) {
      EXPECT_EQ(pools[1], 8) << step;
    }
    if (step >= 12) {
      EXPECT_EQ(pools[0], 4) << step;
    }
    if (step == 21) {
      EXPECT_LT(out[0].finished.size() + out[1].finished.size(), 8u);  // the end is no change
    }
    if (step == 6 || step == 11) {
      EXPECT_EQ(out[0].finished.size() + out[1].finished.size(), 8u) << step;
    }
    for (const MicrobatchStep& m : out) {
      if (step < 12) continue;  // each microbatch mixes too
      EXPECT_EQ(std::count_if(m.rows.begin(), m.rows.end(), [](const TokenRow& r) { return r.pool == 0; }), 2);
    }
  }
}

TEST(Continuous, GradualPhasesOnlyChangeSuccessors) {
  const auto requests = two_pools();
  const PhaseSchedule schedule({{{0}, 10}, {{1}, 40}}, 0, 50);
  ContinuousComposer composer(requests, schedule,
                              {.concurrent = 8, .microbatches = 2, .change = PhaseChange::gradual, .seed = 1});
  int before = 8;
  for (int step = 0; step < 40; ++step) {
    auto pools = pools_of(composer.next_step());
    if (step < 10) {
      EXPECT_EQ(pools[0], 8);
    }
    EXPECT_LE(pools[0], before);
    if (step == 10) {
      EXPECT_GT(pools[0], 0);
    }
    before = pools[0];
  }
  EXPECT_EQ(before, 0);
}

TEST(Continuous, FewerRequestsThanMicrobatchesIsRefused) {
  const auto requests = make_requests(3);
  EXPECT_THROW(ContinuousComposer(requests, one_pool(), {.concurrent = 2, .microbatches = 3, .seed = 0}), Error);
}

TEST(PhaseSchedule, WarmUpUsesTheFirstPhaseAndPhasesRepeat) {
  const PhaseSchedule schedule({{{0}, 2}, {{1}, 1}}, 3, 9);
  std::vector<int> pools;
  for (int step = 0; step < 9; ++step) pools.push_back(schedule.pools_at(step)[0]);
  EXPECT_EQ(pools, (std::vector<int>{0, 0, 0, 0, 0, 1, 0, 0, 1}));
  EXPECT_TRUE(schedule.changes_at(5));
  EXPECT_FALSE(schedule.changes_at(4));
  EXPECT_FALSE(schedule.changes_at(9));  // the end
}

}  // namespace
}  // namespace afore::batch
