#include "device/copy_bench.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "host/host_transfers.h"

namespace afore::host {
namespace {

using namespace device;

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

// A benchmark over threads of this machine.
struct HostBench {
  explicit HostBench(const CopyBenchOptions& options, const StopFlag* stop = nullptr)
      : transfers({options.workers, 1, stop}) {
    transfers.reserve(CopyPath::host, arena_bytes(options, transfers));
    bench.emplace(transfers, options);
  }
  std::optional<CopyPoint> run(std::int64_t size) { return bench->run(size); }
  std::int64_t count_wrong_bytes() const { return bench->count_wrong_bytes(); }
  migrate::Arena& arena(int worker) { return transfers.arena(worker); }

  HostTransfers transfers;
  std::optional<CopyBench> bench;
};

class CopyBenchTest : public testing::TestWithParam<CopyPattern> {};

TEST_P(CopyBenchTest, CopiesArriveWhole) {
  HostBench bench(small_options(GetParam(), 4));
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
  HostBench bench(small_options(GetParam(), 4));
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
  const StopFlag stop{2};
  HostBench bench(small_options(GetParam(), 2), &stop);
  EXPECT_FALSE(bench.run(64).has_value());
}

INSTANTIATE_TEST_SUITE_P(Patterns, CopyBenchTest, testing::Values(CopyPattern::pairs, CopyPattern::fanout));

TEST(CopyBench, FanoutCountsEveryCopyOfThePort) {
  HostBench bench(small_options(CopyPattern::fanout, 5));
  EXPECT_EQ(bench.run(64)->copies, 4);
  HostBench pairs(small_options(CopyPattern::pairs, 6));
  EXPECT_EQ(pairs.run(64)->copies, 1);
}

TEST(CopyBench, WithoutCheckNothingIsClaimed) {
  CopyBenchOptions options = small_options(CopyPattern::pairs, 2);
  options.check = false;
  HostBench bench(options);
  EXPECT_FALSE(bench.run(64)->wrong.has_value());
}

TEST(SweepSizes, StopsAtTheLargestAndDoesNotOverflow) {
  EXPECT_EQ(sweep_sizes(8, 64, 2), (std::vector<std::int64_t>{8, 16, 32, 64}));
  EXPECT_EQ(sweep_sizes(8, 63, 2), (std::vector<std::int64_t>{8, 16, 32}));
  EXPECT_EQ(sweep_sizes(5, 5, 2), (std::vector<std::int64_t>{5}));
  const std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_EQ(sweep_sizes(huge, huge + 5, 3), (std::vector<std::int64_t>{huge}));
}

}  // namespace
}  // namespace afore::host
