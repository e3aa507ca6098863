// Copies and FFN between workers on GPUs, over the stand-in: nothing here says how long anything takes.
#include "cuda_support.h"
#include "device/copy_bench.h"
#include "device/ffn_grid.h"
#include "device/overlap_bench.h"
#include "util/error.h"

namespace afore::device {
namespace {

struct Place {
  int gpus;
  CopyPath path;
  CopyPattern pattern;
  std::uint64_t schedule;
  bool peers = true;
};

class CudaTransfersTest : public testing::TestWithParam<Place> {
 protected:
  void SetUp() override {
    shim::set_devices(GetParam().gpus);
    shim::set_peer_access(GetParam().peers);
    shim::set_schedule(GetParam().schedule);
  }
  std::unique_ptr<Transfers> open(int workers, const StopFlag* stop = nullptr) {
    return plugin().open_transfers({workers, 1, stop});
  }
};

TEST_P(CudaTransfersTest, CopiesArriveWhole) {
  CopyBenchOptions options;
  options.workers = 4;
  options.pattern = GetParam().pattern;
  options.max_bytes = 5000;
  options.iters = 5;
  options.warmup_iters = 2;
  options.seed = 3;
  const auto transfers = open(4);
  transfers->reserve(GetParam().path, arena_bytes(options, *transfers));
  CopyBench bench(*transfers, options);
  for (const std::int64_t size : {1, 255, 256, 5000}) {
    const auto point = bench.run(size);
    ASSERT_TRUE(point.has_value());
    EXPECT_EQ(point->wrong, 0) << size;
    EXPECT_EQ(point->times_us.size(), 5u);
  }
  // What is cleared, or stands where another's bytes belong, is counted.
  transfers->clear(1, 3);
  EXPECT_GT(bench.count_wrong_bytes(), 4900);
  EXPECT_LE(bench.count_wrong_bytes(), 5000);
}

TEST_P(CudaTransfersTest, CopiesArriveWholeBesideTheFfn) {
  OverlapOptions options;
  options.workers = 4;
  options.pattern = GetParam().pattern;
  options.sizes = {64, 32};
  options.experts = 2;
  options.copies = 3;
  options.iters = 1;
  options.warmup_iters = 0;
  options.seed = 3;
  const auto transfers = open(4);
  transfers->reserve(GetParam().path,
                     overlap_slots(options) * transfers->stride_bytes(transfers->expert_bytes(options.sizes)));
  OverlapBench bench(*transfers, options, 70);
  for (const std::int64_t tokens : {3, 70}) {
    const auto point = bench.run(tokens, nullptr);
    ASSERT_TRUE(point.has_value());
    EXPECT_EQ(point->wrong, 0) << tokens;
  }
  EXPECT_EQ(overlap_threads(options, *transfers), 0) << "no processor of the host computes";
}

INSTANTIATE_TEST_SUITE_P(Places, CudaTransfersTest,
                         testing::Values(Place{4, CopyPath::nccl, CopyPattern::pairs, 6},
                                         Place{4, CopyPath::nccl, CopyPattern::fanout, 8, false},
                                         Place{1, CopyPath::d2d, CopyPattern::pairs, 0},
                                         Place{1, CopyPath::d2d, CopyPattern::fanout, 1},
                                         Place{4, CopyPath::peer, CopyPattern::pairs, 2},
                                         Place{5, CopyPath::peer, CopyPattern::fanout, 3},
                                         Place{4, CopyPath::peer, CopyPattern::pairs, 4, false}));

TEST(CudaTransfers, PathsAreThoseThatTheGpusHave) {
  shim::set_devices(2);
  const auto two = plugin().open_transfers({.workers = 2});
  EXPECT_EQ(two->paths(), (std::vector<CopyPath>{CopyPath::peer, CopyPath::nccl, CopyPath::d2d}));
  EXPECT_FALSE(two->info(CopyPath::nccl).virtual_workers);
  EXPECT_FALSE(two->info(CopyPath::peer).virtual_workers);
  EXPECT_TRUE(two->info(CopyPath::d2d).virtual_workers);
  EXPECT_EQ(two->info(CopyPath::d2d).workers_per_unit, 2);
  EXPECT_EQ(two->info(CopyPath::peer).kind, "cuda");
  EXPECT_EQ(two->info(CopyPath::peer).units, 2);
  const auto more = plugin().open_transfers({.workers = 4});
  EXPECT_EQ(more->paths(), std::vector<CopyPath>{CopyPath::d2d}) << "a GPU for each worker, or one for all";
}

TEST(CudaTransfers, ArenasThatDoNotFitAreAnIoError) {
  shim::set_devices(1, std::size_t{1} << 20);
  const auto transfers = plugin().open_transfers({.workers = 2});
  EXPECT_LE(transfers->available_bytes(CopyPath::d2d), 1 << 19);
  try {
    transfers->reserve(CopyPath::d2d, 1 << 20);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
  }
}

TEST(CudaTransfers, OddSizesOfExpertsAreRefused) {
  shim::set_devices(1);
  const auto transfers = plugin().open_transfers({.workers = 1});
  transfers->reserve(CopyPath::d2d, 1 << 20);
  transfers->cut(transfers->expert_bytes({60, 32}));
  try {
    transfers->prepare_ffn({60, 32}, 1, 1, 0);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
  }
}

TEST(CudaTransfers, TheGridRunsAndStops) {
  shim::set_devices(1);
  const auto transfers = plugin().open_transfers({.workers = 1});
  FfnGridOptions options;
  options.sizes = {32, 16};
  options.most_experts = 2;
  options.most_tiles_per_expert = 2;
  options.iters = 1;
  options.warmup_iters = 0;
  transfers->reserve(CopyPath::d2d, 2 * transfers->stride_bytes(transfers->expert_bytes(options.sizes)));
  EXPECT_EQ(time_ffn_grid(*transfers, options, nullptr)->size(), 4u);
  const StopFlag stop{2};
  EXPECT_FALSE(time_ffn_grid(*transfers, options, &stop).has_value());
}

TEST(CudaTransfers, AStopFlagEndsRounds) {
  shim::set_devices(1);
  const StopFlag stop{2};
  const auto transfers = plugin().open_transfers({2, 1, &stop});
  transfers->reserve(CopyPath::d2d, 1 << 16);
  transfers->cut(100);
  const CopyPort port{0, {1}};
  EXPECT_FALSE(transfers->time_rounds(std::span(&port, 1), {0, 1, 1}).has_value());
}

}  // namespace
}  // namespace afore::device
