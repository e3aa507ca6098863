#include "migrate/copy_bench.h"

#include <gtest/gtest.h>

#include "migrate/copy_fit.h"
#include "util/error.h"

namespace afore::migrate {
namespace {

CopyBenchOptions small_options(CopyPattern pattern, int workers) {
  CopyBenchOptions options;
  options.workers = workers;
  options.pattern = pattern;
  options.max_bytes = 1 << 14;
  options.iters = 7;
  options.warmup_iters = 3;
  options.seed = 11;
  return options;
}

class CopyBenchTest : public testing::TestWithParam<CopyPattern> {};

TEST_P(CopyBenchTest, CopiesArriveWhole) {
  CopyBench bench(small_options(GetParam(), 4));
  for (const std::int64_t size : {1, 63, 64, 1000, 1 << 14}) {
    const auto point = bench.run(size);
    ASSERT_TRUE(point.has_value());
    EXPECT_EQ(point->wrong, 0) << size;
    EXPECT_EQ(point->size_bytes, size);
    EXPECT_EQ(point->times_us.size(), 7u);
    EXPECT_LE(point->min_us, point->p50_us);
    EXPECT_LE(point->p50_us, point->p99_us);
    EXPECT_LE(point->p99_us, point->max_us);
    EXPECT_GT(point->algbw_gbps, 0);
    EXPECT_DOUBLE_EQ(point->busbw_gbps, point->algbw_gbps * static_cast<double>(point->copies));
  }
}

TEST_P(CopyBenchTest, ACorruptedSlotIsCounted) {
  CopyBench bench(small_options(GetParam(), 4));
  ASSERT_TRUE(bench.run(1000).has_value());
  EXPECT_EQ(bench.count_wrong_bytes(), 0);
  // Timed rounds 3..9 wrote slots 3..9; worker 3 receives in both patterns.
  bench.arena(3).slot(5)[17] ^= std::byte{1};
  EXPECT_EQ(bench.count_wrong_bytes(), 1);
  bench.arena(3).slot(9)[999] ^= std::byte{1};
  EXPECT_EQ(bench.count_wrong_bytes(), 2);
  // The right bytes in the wrong slot are wrong too.
  std::ranges::copy(bench.arena(3).slot(6), bench.arena(3).slot(4).begin());
  EXPECT_GT(bench.count_wrong_bytes(), 900);
}

TEST_P(CopyBenchTest, AStopFlagEndsTheRun) {
  const volatile int stop = 2;
  CopyBenchOptions options = small_options(GetParam(), 2);
  options.stop = &stop;
  CopyBench bench(options);
  EXPECT_FALSE(bench.run(64).has_value());
}

INSTANTIATE_TEST_SUITE_P(Patterns, CopyBenchTest, testing::Values(CopyPattern::pairs, CopyPattern::fanout));

TEST(CopyBench, FanoutCountsEveryCopyOfThePort) {
  CopyBench bench(small_options(CopyPattern::fanout, 5));
  EXPECT_EQ(bench.run(64)->copies, 4);
  CopyBench pairs(small_options(CopyPattern::pairs, 6));
  EXPECT_EQ(pairs.run(64)->copies, 1);
}

TEST(CopyBench, WithoutCheckNothingIsClaimed) {
  CopyBenchOptions options = small_options(CopyPattern::pairs, 2);
  options.check = false;
  CopyBench bench(options);
  EXPECT_FALSE(bench.run(64)->wrong.has_value());
}

TEST(SweepSizes, StopsAtTheLargestAndDoesNotOverflow) {
  EXPECT_EQ(sweep_sizes(8, 64, 2), (std::vector<std::int64_t>{8, 16, 32, 64}));
  EXPECT_EQ(sweep_sizes(8, 63, 2), (std::vector<std::int64_t>{8, 16, 32}));
  EXPECT_EQ(sweep_sizes(5, 5, 2), (std::vector<std::int64_t>{5}));
  const std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_EQ(sweep_sizes(huge, huge + 5, 3), (std::vector<std::int64_t>{huge}));
}

CopyPoint exact(std::int64_t size, double ns, std::int64_t copies = 1) {
  CopyPoint point;
  point.size_bytes = size;
  point.copies = copies;
  point.p50_us = ns / 1e3 * static_cast<double>(copies);
  return point;
}

TEST(CopyFit, FindsTheLineItWasMadeFrom) {
  std::vector<CopyPoint> points;
  for (std::int64_t size = 1 << 16; size <= 1 << 26; size *= 2)
    points.push_back(exact(size, 1500 + 0.25 * static_cast<double>(size), 3));
  const CopyFit fit = fit_copy_time(points);
  EXPECT_EQ(fit.latency_ns, 1500);
  EXPECT_NEAR(fit.bytes_per_s, 4e9, 1);
  EXPECT_NEAR(fit.worst_relative_error, 0, 1e-9);
}

TEST(CopyFit, ANegativeLatencyIsHeldAtZero) {
  // Faster than the line at small sizes (they fit a cache): the intercept would be below zero.
  const CopyFit fit = fit_copy_time(std::vector<CopyPoint>{exact(1000, 100), exact(2000, 400), exact(4000, 1000)});
  EXPECT_EQ(fit.latency_ns, 0);
  EXPECT_GT(fit.bytes_per_s, 0);
  EXPECT_GT(fit.worst_relative_error, 0);
}

TEST(CopyFit, TimesThatShrinkWithSizeAreRefused) {
  try {
    fit_copy_time(std::vector<CopyPoint>{exact(1000, 1000), exact(2000, 500)});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::answer_no);
  }
}

}  // namespace
}  // namespace afore::migrate
