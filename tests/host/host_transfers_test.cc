#include "host/host_transfers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

#include "device/ffn_grid.h"
#include "device/overlap_bench.h"
#include "host/at_once.h"

namespace afore::host {
namespace {

using namespace device;

TEST(AtOnce, EveryJobRunsWithTheOthers) {
  // Each waits for all of them: none could end if they did not run at the same time.
  std::atomic<int> here = 0;
  std::vector<std::function<void()>> jobs(5, [&here] {
    ++here;
    while (here.load() < 5) std::this_thread::yield();
  });
  run_at_once(jobs);
  EXPECT_EQ(here.load(), 5);
  run_at_once({});
}

TEST(AtOnce, ThrowsWhatAJobThrewWhenAllHaveEnded) {
  for (const std::size_t thrower : {0u, 2u}) {
    std::atomic<int> ended = 0;
    std::vector<std::function<void()>> jobs(3, [&ended] { ++ended; });
    jobs[thrower] = [] { throw std::runtime_error("no"); };
    EXPECT_THROW(run_at_once(jobs), std::runtime_error);
    EXPECT_EQ(ended.load(), 2);
  }
}

constexpr ExpertSizes kSizes{48, 32};

OverlapOptions small_options() {
  OverlapOptions options;
  options.workers = 4;
  options.sizes = kSizes;
  options.experts = 3;
  options.copies = 5;
  options.iters = 4;
  options.warmup_iters = 1;
  options.seed = 3;
  return options;
}

class OverlapBenchTest : public testing::TestWithParam<CopyPattern> {};

TEST_P(OverlapBenchTest, CopiesArriveWholeBesideTheFfn) {
  OverlapOptions options = small_options();
  options.pattern = GetParam();
  HostTransfers transfers({.workers = options.workers});
  transfers.reserve(CopyPath::host, overlap_slots(options) * transfers.stride_bytes(transfers.expert_bytes(kSizes)));
  OverlapBench bench(transfers, options, 9);
  for (const std::int64_t tokens : {1, 9}) {
    const auto point = bench.run(tokens, nullptr);
    ASSERT_TRUE(point.has_value());
    EXPECT_EQ(point->wrong, 0);
    EXPECT_EQ(point->tokens, tokens);
    EXPECT_EQ(point->exposed_times_us.size(), 4u);
    EXPECT_GT(point->ffn_us.p50, 0);
    EXPECT_LE(point->copy_us.p50, point->copy_us.p95);
    EXPECT_GE(point->hidden_share, 0);
    EXPECT_LE(point->hidden_share, 1);
    EXPECT_GE(point->exposed_us.p50, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Patterns, OverlapBenchTest, testing::Values(CopyPattern::pairs, CopyPattern::fanout));

TEST(OverlapBench, StopsWhenToldTo) {
  const OverlapOptions options = small_options();
  HostTransfers transfers({.workers = options.workers});
  transfers.reserve(CopyPath::host, overlap_slots(options) * transfers.stride_bytes(transfers.expert_bytes(kSizes)));
  OverlapBench bench(transfers, options, 1);
  const StopFlag stop{2};
  EXPECT_FALSE(bench.run(1, &stop).has_value());
}

TEST(OverlapBench, ThreadsAreThoseThatComputeAndThoseThatCopy) {
  OverlapOptions options = small_options();
  const HostTransfers transfers({.workers = 4, .worker_threads = 3});
  EXPECT_EQ(overlap_threads(options, transfers), 12 + 2);
  options.pattern = CopyPattern::fanout;
  EXPECT_EQ(overlap_threads(options, transfers), 12 + 1);
}

// A device on which time is what the test says: overlap is arithmetic.
class ClockedTransfers final : public Transfers {
 public:
  Nanos ffn_ns = 0, copy_ns = 0, together_ns = 0;  // of the FFN alone, the copies alone, the FFN beside copies
  std::int64_t wrong = 0;

  DeviceInfo info(CopyPath) const override { return {}; }
  int workers() const override { return 2; }
  std::vector<CopyPath> paths() const override { return {CopyPath::peer}; }
  std::int64_t available_bytes(CopyPath) const override { return 0; }
  void reserve(CopyPath, std::int64_t) override {}
  std::int64_t cut(std::int64_t) override { return 100; }
  std::int64_t stride_bytes(std::int64_t bytes) const override { return bytes; }
  void fill(int, std::int64_t, std::uint64_t, PatternKind) override {}
  void clear(int, std::int64_t) override {}
  std::int64_t count_wrong(int, std::int64_t, std::uint64_t, PatternKind, int, std::int64_t) const override {
    return wrong;
  }
  std::optional<std::vector<std::vector<double>>> time_rounds(std::span<const CopyPort>, const CopyRounds&) override {
    return std::nullopt;
  }
  std::int64_t tile_tokens() const override { return 16; }
  std::int64_t expert_bytes(const ExpertSizes&) const override { return 10; }
  int compute_threads() const override { return 0; }
  void prepare_ffn(const ExpertSizes&, int, std::int64_t, std::uint64_t) override {}
  MixTimes run(const Mix& mix) override {
    const bool both = mix.ffn_workers > 0 && !mix.ports.empty();
    MixTimes times{std::vector<TimeSpan>(2), std::vector<TimeSpan>(2)};
    const std::int64_t tiles = mix.experts * (mix.tokens / tile_tokens());
    const Nanos grown_ns = 5000 + 300 * tiles + 70 * mix.experts;
    for (int w = 0; w < mix.ffn_workers; ++w)
      times.ffn[w] = {10, 10 + (both ? together_ns : ffn_ns > 0 ? ffn_ns : grown_ns)};
    if (!mix.ports.empty()) times.arrivals[1] = {10, 10 + copy_ns};
    return times;
  }
};

TEST(OverlapBench, WhatTheFfnDoesNotHideIsExposed) {
  OverlapOptions options = small_options();
  options.workers = 2;
  ClockedTransfers device;
  OverlapBench bench(device, options, 16);
  device.ffn_ns = 1'000'000;
  device.together_ns = 1'500'000;
  device.copy_ns = 2'000'000;
  const OverlapPoint late = *bench.run(16, nullptr);
  EXPECT_DOUBLE_EQ(late.exposed_us.p50, 500);
  EXPECT_DOUBLE_EQ(late.exposed_us.p95, 500);
  EXPECT_DOUBLE_EQ(late.ffn_slowdown, 1.5);
  EXPECT_DOUBLE_EQ(late.hidden_share, 0.75);
  EXPECT_DOUBLE_EQ(late.ffn_us.p50, 1000);
  EXPECT_DOUBLE_EQ(late.copy_us.p50, 2000);
  device.copy_ns = 1'500'000;
  device.wrong = 3;
  const OverlapPoint hidden = *bench.run(16, nullptr);
  EXPECT_DOUBLE_EQ(hidden.exposed_us.p50, 0);
  EXPECT_DOUBLE_EQ(hidden.hidden_share, 1);
  EXPECT_EQ(hidden.wrong, 15) << "five copies at one receiver";
}

TEST(FfnGrid, GoesThroughTilesAndExperts) {
  ClockedTransfers device;
  FfnGridOptions options;
  options.most_experts = 6;
  options.most_tiles_per_expert = 2;
  options.iters = 1;
  const auto points = *time_ffn_grid(device, options, nullptr);
  ASSERT_EQ(points.size(), 4u * 2u) << "1, 2, 4, 6 experts; 1, 2 tiles each";
  EXPECT_EQ(points.front().tiles, 1);
  EXPECT_EQ(points.back().activated, 6);
  EXPECT_EQ(points.back().tiles, 12);
  for (const FfnPoint& point : points)
    EXPECT_DOUBLE_EQ(point.p50_ns,
                     5000 + 300 * static_cast<double>(point.tiles) + 70 * static_cast<double>(point.activated));
}

TEST(FfnGrid, RunsOnThisMachine) {
  HostTransfers transfers({.workers = 1});
  FfnGridOptions options;
  options.sizes = kSizes;
  options.most_experts = 2;
  options.most_tiles_per_expert = 2;
  options.iters = 2;
  transfers.reserve(CopyPath::host, 2 * transfers.stride_bytes(transfers.expert_bytes(kSizes)));
  const auto points = time_ffn_grid(transfers, options, nullptr);
  ASSERT_TRUE(points.has_value());
  for (const FfnPoint& point : *points) EXPECT_GT(point.p50_ns, 0);
  const StopFlag stop{2};
  EXPECT_FALSE(time_ffn_grid(transfers, options, &stop).has_value());
}

}  // namespace
}  // namespace afore::host
