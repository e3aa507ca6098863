// SMs of a GPU for each of the workers that share it, over the stand-in's driver.
#include "device/cuda/partitions.h"

#include <map>

#include "cuda_support.h"
#include "device/cuda/lane.h"
#include "device/overlap_bench.h"
#include "util/error.h"

namespace afore::device::cuda {
namespace {

constexpr shim::DriverSettings kH200{.sms = 132, .sm_granularity = 8};

class CudaPartitions : public testing::Test {
 protected:
  void SetUp() override {
    shim::set_devices(1);
    shim::set_driver(kH200);
    shim::take_launch_places();
  }
  void TearDown() override { shim::set_driver({}); }
  static std::string why(const shim::DriverSettings& driver, int workers, bool wanted = true) {
    shim::set_driver(driver);
    const Partitions none = split_sms(0, workers, wanted);
    EXPECT_EQ(none.of, std::vector<Partition>(static_cast<std::size_t>(workers)));
    EXPECT_EQ(none.split.worker_sms, 0);
    EXPECT_EQ(none.split.gpu_sms, driver.sms);
    EXPECT_EQ(shim::num_green_contexts(), 0);
    return none.split.why_plain;
  }
};

// Groups are multiples of what the driver rounds to, all are equal, and the remainder belongs to nobody.
TEST_F(CudaPartitions, AreEqualAndAsLargeAsTheDriverMakesThem) {
  const std::map<int, std::int64_t> sms = {{2, 64}, {3, 40}, {4, 32}, {5, 24}, {6, 16},
                                           {7, 16}, {8, 16}, {9, 8},  {16, 8}};
  for (const auto& [workers, each] : sms) {
    const Partitions partitions = split_sms(0, workers, true);
    EXPECT_EQ(partitions.split, (SmSplit{132, each, ""})) << workers;
    EXPECT_EQ(std::ssize(partitions.of), workers);
    EXPECT_EQ(shim::num_green_contexts(), workers);
  }
  EXPECT_EQ(shim::num_green_contexts(), 0);
  EXPECT_EQ(describe(split_sms(0, 7, true).split), "16 of 132 SMs each (green contexts)");
}

TEST_F(CudaPartitions, SayWhyThereAreNone) {
  EXPECT_EQ(why({.version = 12020, .sms = 132, .sm_granularity = 8}, 2), "driver 12.2 has no green contexts");
  EXPECT_EQ(why({.version = 12040, .sms = 132, .sm_granularity = 8}, 2), "driver 12.4 has no green contexts");
  EXPECT_EQ(why({.green_contexts = false, .sms = 132}, 2), "the driver has no cuDeviceGetDevResource");
  EXPECT_EQ(why(kH200, 17), "132 SMs make 16 partitions at most, for 17 workers");
  EXPECT_EQ(why(kH200, 200), "132 SMs make 16 partitions at most, for 200 workers");
  EXPECT_EQ(why(kH200, 2, false), "--sm-partitions off");
  EXPECT_EQ(why(kH200, 1), "one worker has the GPU");
  EXPECT_EQ(why({.sms = 132, .sm_granularity = 8, .failing_context = 3}, 4),
            "cuGreenCtxCreate: out of memory (cudaErrorMemoryAllocation)")
      << "the two that were made before are given back";
  EXPECT_EQ(describe(split_sms(0, 17, true).split),
            "plain streams: 132 SMs make 16 partitions at most, for 17 workers");
}

TEST_F(CudaPartitions, LastAsLongAsTheirStreams) {
  {
    Lane lane(0, Lane::Kind::compute, split_sms(0, 2, true).of[1]);
    EXPECT_EQ(shim::num_green_contexts(), 1) << "the other worker's is of no use to anybody";
    lane.wait(lane.record());
    Lane copies(0, Lane::Kind::copies);
    const Ticket ticket = copies.record();
    copies.order(lane.stream(), ticket);  // the GPU's events order a partition's streams, and the other way round
    lane.order(copies.stream(), lane.record());
    lane.wait_for_all();
    copies.wait_for_all();
  }
  EXPECT_EQ(shim::num_green_contexts(), 0);
  EXPECT_EQ(shim::last_fault(), "") << "a stream outlived its green context";
}

// --- Which worker's kernels run where

using Places = std::set<shim::LaunchPlace>;

class WatchedExperts final : public ExpertWorker {
 public:
  WatchedExperts(std::unique_ptr<ExpertWorker> inner, Places& mine, Places& others)
      : inner_(std::move(inner)), mine_(mine), others_(others) {}
  void load(std::int64_t slot, int layer, int expert) override { inner_->load(slot, layer, expert); }
  std::vector<std::byte> read(std::int64_t slot) override { return inner_->read(slot); }
  Ticket run(std::span<Step* const> steps, std::span<const RowShare> shares) override {
    others_.merge(shim::take_launch_places());
    const Ticket ticket = inner_->run(steps, shares);
    mine_.merge(shim::take_launch_places());
    return ticket;
  }
  void wait(Ticket ticket) override { inner_->wait(ticket); }
  Ticket copy(ExpertWorker& from, std::int64_t from_slot, std::int64_t to_slot) override {
    return inner_->copy(*static_cast<WatchedExperts&>(from).inner_, from_slot, to_slot);
  }
  bool poll(Ticket copy) override { return inner_->poll(copy); }
  bool polls_move() const override { return inner_->polls_move(); }

 private:
  const std::unique_ptr<ExpertWorker> inner_;
  Places &mine_, &others_;
};

// Notes where each worker's kernels were launched: what an FFN worker's run() launches is its own, all else
// attention's.
class WatchedDevice final : public Device {
 public:
  WatchedDevice(std::unique_ptr<Device> inner, int ffn_workers)
      : ffn(static_cast<std::size_t>(ffn_workers)), inner_(std::move(inner)) {}
  std::string name() const override { return inner_->name(); }
  std::string sharing() const override { return inner_->sharing(); }
  std::unique_ptr<Attention> make_attention(int worker) override { return inner_->make_attention(worker); }
  std::unique_ptr<ExpertWorker> make_experts(int worker, std::int64_t slots) override {
    return std::make_unique<WatchedExperts>(inner_->make_experts(worker, slots), ffn[static_cast<std::size_t>(worker)],
                                            attention);
  }
  void load_everywhere(std::span<const int> layers) override { inner_->load_everywhere(layers); }

  std::vector<Places> ffn;
  Places attention;

 private:
  const std::unique_ptr<Device> inner_;
};
struct Watched {
  std::vector<Places> ffn;
  Places attention;
  std::string sharing;
  Transcript transcript;
};

Watched watch(const shim::DriverSettings& driver, int gpus, bool wanted, std::uint64_t schedule) {
  shim::set_devices(gpus);
  shim::set_driver(driver);
  shim::set_schedule(schedule);
  shim::take_launch_places();
  RunSetup setup;
  setup.options = {1, 2, Combine::partial, 1024, 16, wanted};
  setup.drive = {.seed = 5, .split = true, .copies = true};
  static const nn::Model model = nn::random_model(small_config(nn::Architecture::glm4_moe), 3);
  WatchedDevice device(open_cuda(model, setup.options), 2);
  Watched seen;
  seen.transcript = converse(model, device, setup, {{{5, 17, 30, 42}, {}}, {{9, 1, 77}, {}}}, 9);
  device.attention.merge(shim::take_launch_places());
  seen.ffn = device.ffn;
  seen.attention = device.attention;
  seen.sharing = device.sharing();
  return seen;
}

TEST_F(CudaPartitions, KernelsOfAWorkerRunInItsOwnAlone) {
  for (const std::uint64_t schedule : {0, 1, 4}) {
    const Watched seen = watch(kH200, 1, true, schedule);
    EXPECT_EQ(seen.ffn[0], (Places{{0, 0, 40}}));
    EXPECT_EQ(seen.ffn[1], (Places{{0, 40, 40}}));
    EXPECT_EQ(seen.attention, (Places{{0, 80, 40}}));
    EXPECT_EQ(seen.sharing, "3 virtual workers on one GPU, 40 of 132 SMs each (green contexts)");
    EXPECT_EQ(shim::num_green_contexts(), 0);
    EXPECT_EQ(shim::last_fault(), "");
  }
}

TEST_F(CudaPartitions, DecideNothingOfWhatIsComputed) {
  const Watched with = watch(kH200, 1, true, 2), off = watch(kH200, 1, false, 2);
  const Watched failed = watch({.sms = 132, .sm_granularity = 8, .failing_context = 2}, 1, true, 2);
  EXPECT_GT(with.transcript.copies, 0);
  for (const Watched* plain : {&off, &failed}) {
    EXPECT_EQ(plain->transcript.tokens, with.transcript.tokens);
    EXPECT_EQ(plain->transcript.logits, with.transcript.logits);
    for (const Places& places : {plain->ffn[0], plain->ffn[1], plain->attention})
      EXPECT_EQ(places, (Places{{0, 0, 132}}));
  }
  EXPECT_EQ(off.sharing, "3 virtual workers on one GPU, plain streams: --sm-partitions off");
  EXPECT_EQ(failed.sharing,
            "3 virtual workers on one GPU, plain streams: cuGreenCtxCreate: out of memory (cudaErrorMemoryAllocation)");
}

TEST_F(CudaPartitions, OnlyGpusWithSeveralWorkersAreSplit) {
  const Watched two = watch(kH200, 2, true, 0);  // FFN worker 0 and the attention worker; FFN worker 1
  EXPECT_EQ(two.ffn[0], (Places{{0, 0, 64}}));
  EXPECT_EQ(two.attention, (Places{{0, 64, 64}}));
  EXPECT_EQ(two.ffn[1], (Places{{1, 0, 132}}));
  EXPECT_EQ(two.sharing, "2 virtual workers on one GPU, 64 of 132 SMs each (green contexts)");
  EXPECT_EQ(watch(kH200, 3, true, 0).sharing, "");
}

TEST_F(CudaPartitions, GpusWithMoreWorkersHaveSmallerOnes) {
  shim::set_devices(2);
  const auto device = open_cuda(tiny_model(), {2, 3, Combine::exact, 1024, 16});
  EXPECT_EQ(device->sharing(),
            "5 virtual workers on 2 GPUs, 40 of 132 SMs each (green contexts) or 64 of 132 SMs each (green contexts)");
}

// --- What is measured with

Places ffn_places(Transfers& transfers, CopyPath path) {
  OverlapOptions options;
  options.workers = transfers.workers();
  options.pattern = CopyPattern::fanout;
  options.sizes = {64, 32};
  options.experts = 1;
  options.copies = 1;
  options.iters = 1;
  options.warmup_iters = 0;
  options.seed = 3;
  transfers.reserve(path, overlap_slots(options) * transfers.stride_bytes(transfers.expert_bytes(options.sizes)));
  shim::take_launch_places();
  OverlapBench bench(transfers, options, 4);
  EXPECT_EQ(bench.run(4, nullptr)->wrong, 0);
  return shim::take_launch_places();
}

TEST_F(CudaPartitions, OfTransfersAreForWorkersOfOneGpu) {
  shim::set_devices(3);
  const auto transfers = plugin().open_transfers({.workers = 3});
  EXPECT_EQ(transfers->info(CopyPath::d2d).sm_split, (SmSplit{132, 40, ""}));
  EXPECT_EQ(transfers->info(CopyPath::peer).sm_split, std::nullopt);
  EXPECT_EQ(ffn_places(*transfers, CopyPath::d2d), (Places{{0, 0, 40}, {0, 40, 40}, {0, 80, 40}}));
  EXPECT_EQ(ffn_places(*transfers, CopyPath::peer), (Places{{0, 0, 132}, {1, 0, 132}, {2, 0, 132}}));
  const auto plain = plugin().open_transfers({.workers = 3, .sm_partitions = false});
  EXPECT_EQ(plain->info(CopyPath::d2d).sm_split, (SmSplit{132, 0, "--sm-partitions off"}));
  EXPECT_EQ(ffn_places(*plain, CopyPath::d2d), (Places{{0, 0, 132}}));
}

}  // namespace
}  // namespace afore::device::cuda
