// Copies by NCCL's sends and receives, over the stand-ins for NCCL and CUDA.
#include <chrono>

#include "cuda_support.h"
#include "device/copy_bench.h"
#include "device/cuda/buffer.h"
#include "device/cuda/nccl_route.h"
#include "device/cuda/transfers.h"
#include "device/overlap_bench.h"
#include "kernels/shim/nccl_settings.h"
#include "util/error.h"

namespace afore::device {
namespace {

using cuda::CopyLanes;
using cuda::CudaTransfers;
using cuda::Lane;
using cuda::SlotCopy;
using shim::MessageFate;
using std::chrono::milliseconds;

constexpr milliseconds kLong{60'000}, kShort{1'000};  // longer than what ends takes on a busy machine
constexpr CopyPath kNccl = CopyPath::nccl;

void set_machine(int gpus, std::uint64_t schedule) {
  shim::set_devices(gpus);
  shim::set_peer_access(true);
  shim::set_schedule(schedule);
  shim::set_message_fates(nullptr);
}

// `patience` is that of the communicators that are made next.
std::unique_ptr<Transfers> open_patient(int workers, const milliseconds& patience) {
  return std::make_unique<CudaTransfers>(
      cuda::find_gpus(), TransferOptions{.workers = workers, .tile_tokens = kCudaTileTokens},
      [&patience](CopyLanes lanes) { return cuda::make_nccl_route(lanes, patience); });
}

std::string error_of(const auto& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io) << error.what();
    return error.what();
  }
  return "no error";
}

struct Run {
  int workers;
  std::uint64_t schedule;
};

class NcclCopies : public testing::TestWithParam<Run> {
 protected:
  void SetUp() override { set_machine(GetParam().workers, GetParam().schedule); }
  void TearDown() override {
    EXPECT_EQ(shim::num_communicators(), 0) << "none outlives its arenas";
    shim::set_message_fates(nullptr);
  }
};
INSTANTIATE_TEST_SUITE_P(Places, NcclCopies, testing::Values(Run{2, 0}, Run{2, 1}, Run{4, 4}, Run{8, 2}, Run{8, 0}));

// All-to-all: every worker sends to all others and receives from all, each beginning with another one.
std::vector<CopyPort> all_to_all(int workers) {
  std::vector<CopyPort> ports;
  for (int from = 0; from < workers; ++from) {
    ports.push_back({from, {}});
    for (int k = 1; k < workers; ++k) ports.back().to.push_back((from + k) % workers);
  }
  return ports;
}

// As above, but all begin with worker 0, or 1, so that some are sent to by all others at once.
std::vector<CopyPort> crowded(int workers) {
  std::vector<CopyPort> ports;
  for (int from = 0; from < workers; ++from) {
    ports.push_back({from, {}});
    for (int to = 0; to < workers; ++to)
      if (to != from) ports.back().to.push_back(to);
  }
  return ports;
}

// Rings of neighbours, one way after the other; worker 0 has one receiver only.
std::vector<CopyPort> uneven(int workers) {
  std::vector<CopyPort> ports = {{0, {1}}};
  for (int from = 1; from < workers; ++from) ports.push_back({from, {(from + 1) % workers, from - 1}});
  if (workers == 2) ports[1].to = {0};
  return ports;
}

TEST_P(NcclCopies, EveryPatternOfPortsArrivesAndEnds) {
  const int workers = GetParam().workers;
  constexpr std::int64_t kRounds = 3;
  for (const auto& make_ports : {all_to_all, crowded, uneven}) {
    const std::vector<CopyPort> ports = make_ports(workers);
    // A receiver's slots are told apart by the round alone, so each port is checked in a run of its own, too.
    for (std::size_t only = 0; only <= ports.size(); ++only) {
      const auto transfers = open_patient(workers, kLong);
      transfers->reserve(kNccl, 1 << 14);
      ASSERT_GE(transfers->cut(500), kRounds);
      for (int w = 0; w < workers; ++w)
        for (std::int64_t slot = 0; slot < kRounds; ++slot) transfers->fill(w, slot, 7, PatternKind::bytes);
      const std::span<const CopyPort> sent =
          only == ports.size() ? std::span(ports) : std::span(ports).subspan(only, 1);
      const auto times_us = transfers->time_rounds(sent, {0, kRounds, kRounds});
      ASSERT_TRUE(times_us.has_value());
      for (const auto& of_port : *times_us) {
        EXPECT_EQ(std::ssize(of_port), kRounds);
        for (const double us : of_port) EXPECT_GE(us, 0);
      }
      if (only == ports.size()) continue;
      for (const int to : ports[only].to)
        for (std::int64_t slot = 0; slot < kRounds; ++slot)
          EXPECT_EQ(transfers->count_wrong(to, slot, 7, PatternKind::bytes, ports[only].from, slot), 0)
              << ports[only].from << " to " << to;
    }
  }
}

TEST_P(NcclCopies, TheBenchmarkIsRightForBothPatterns) {
  const int workers = GetParam().workers;
  for (const CopyPattern pattern : {CopyPattern::pairs, CopyPattern::fanout}) {
    CopyBenchOptions options;
    options.workers = workers;
    options.pattern = pattern;
    options.max_bytes = 3000;
    options.iters = 4;
    options.warmup_iters = 1;
    options.seed = 3;
    const auto transfers = plugin().open_transfers({.workers = workers});
    transfers->reserve(kNccl, arena_bytes(options, *transfers));
    CopyBench bench(*transfers, options);
    for (const std::int64_t size : {1, 255, 3000}) {
      const auto point = bench.run(size);
      ASSERT_TRUE(point.has_value());
      EXPECT_EQ(point->wrong, 0) << size;
      EXPECT_EQ(point->copies, pattern == CopyPattern::fanout ? workers - 1 : 1);
    }
  }
}

TEST_P(NcclCopies, TheyArriveBesideTheFfn) {
  const int workers = GetParam().workers;
  for (const CopyPattern pattern : {CopyPattern::pairs, CopyPattern::fanout}) {
    OverlapOptions options;
    options.workers = workers;
    options.pattern = pattern;
    options.sizes = {32, 16};
    options.experts = 2;
    options.copies = 3;
    options.iters = 1;
    options.warmup_iters = 0;
    options.seed = 3;
    const auto transfers = plugin().open_transfers({.workers = workers});
    transfers->reserve(kNccl, overlap_slots(options) * transfers->stride_bytes(transfers->expert_bytes(options.sizes)));
    OverlapBench bench(*transfers, options, 5);
    const auto point = bench.run(5, nullptr);
    ASSERT_TRUE(point.has_value());
    EXPECT_EQ(point->wrong, 0);
  }
}

// More copies than a gate holds back.
TEST_P(NcclCopies, ManyArriveBesideNothing) {
  const int workers = GetParam().workers;
  const auto transfers = open_patient(workers, kLong);
  constexpr int kCopies = 100;
  transfers->reserve(kNccl, (kCopies + 2) * transfers->stride_bytes(100));
  transfers->cut(100);
  for (std::int64_t slot = 0; slot < 2; ++slot) transfers->fill(0, slot, 7, PatternKind::bytes);
  const CopyPort port{0, {workers - 1}};
  const MixTimes times = transfers->run({.ports = std::span(&port, 1), .copies = kCopies, .experts = 2});
  EXPECT_GT(times.arrivals[static_cast<std::size_t>(workers - 1)].length(), 0);
  for (int i = 0; i < kCopies; ++i)
    EXPECT_EQ(transfers->count_wrong(workers - 1, 2 + i, 7, PatternKind::bytes, 0, i % 2), 0) << i;
}

TEST_P(NcclCopies, ALostByteIsCounted) {
  CopyBenchOptions options;
  options.workers = GetParam().workers;
  options.pattern = CopyPattern::fanout;
  options.max_bytes = 1000;
  options.iters = 4;
  options.warmup_iters = 2;
  const int last = options.workers - 1;
  shim::set_message_fates([last](int, int to, int number) {
    return to == last && number == 3 ? MessageFate::is_torn : MessageFate::arrives;
  });
  const auto transfers = plugin().open_transfers({.workers = options.workers});
  transfers->reserve(kNccl, arena_bytes(options, *transfers));
  EXPECT_EQ(CopyBench(*transfers, options).run(1000)->wrong, 1);
}

// --- What fails

std::string round_error(Transfers& transfers, std::span<const CopyPort> ports) {
  return error_of([&] { transfers.time_rounds(ports, {0, 3, 3}); });
}

TEST_P(NcclCopies, APeerThatHangsIsAnErrorInTimeAndNothingIsLeft) {
  const int workers = GetParam().workers;
  shim::set_message_fates(
      [](int from, int, int number) { return from == 0 && number == 1 ? MessageFate::hangs : MessageFate::arrives; });
  const std::vector<CopyPort> ports = all_to_all(workers);
  milliseconds patience = kShort;
  const auto transfers = open_patient(workers, patience);
  transfers->reserve(kNccl, 1 << 12);
  transfers->cut(500);
  const std::string why = "copies did not end within 1 s";
  EXPECT_EQ(round_error(*transfers, ports), why);
  EXPECT_EQ(shim::num_communicators(), 0);
  EXPECT_EQ(round_error(*transfers, ports), why) << "it is broken for good";
  // New arenas are new communicators.
  shim::set_message_fates(nullptr);
  patience = kLong;
  transfers->reserve(kNccl, 1 << 12);
  transfers->cut(500);
  EXPECT_TRUE(transfers->time_rounds(ports, {0, 3, 3}).has_value());
}

TEST_P(NcclCopies, APeerThatFailsIsAnErrorAtOnceWithNcclsWords) {
  const int workers = GetParam().workers;
  shim::set_message_fates(
      [](int, int to, int number) { return to == 1 && number == 2 ? MessageFate::breaks : MessageFate::arrives; });
  const std::vector<CopyPort> ports = all_to_all(workers);
  const auto transfers = open_patient(workers, kLong);
  transfers->reserve(kNccl, 1 << 12);
  transfers->cut(500);
  const auto begin = std::chrono::steady_clock::now();
  const std::string why = round_error(*transfers, ports);
  EXPECT_EQ(why.find("NCCL: rank 1: remote process exited or there was a network error (rank 1"), 0u) << why;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kLong / 2);
  EXPECT_EQ(shim::num_communicators(), 0);
}

// Whoever does not wait for a copy that hangs can still let go of it.
TEST_P(NcclCopies, WhatHangsDoesNotHoldUpTheEnd) {
  shim::set_message_fates([](int, int, int) { return MessageFate::hangs; });
  const int workers = GetParam().workers;
  Lane first(0, Lane::Kind::copies), second(1, Lane::Kind::copies);
  std::vector<std::unique_ptr<Lane>> more;
  std::vector<Lane*> lanes = {&first, &second};
  for (int w = 2; w < workers; ++w)
    lanes.push_back(more.emplace_back(std::make_unique<Lane>(w, Lane::Kind::copies)).get());
  std::vector<std::unique_ptr<cuda::Memory>> arenas;
  for (int w = 0; w < 2; ++w) arenas.push_back(std::make_unique<cuda::Memory>(cuda::Place{w}, 64));
  const auto route = cuda::make_nccl_route(lanes, kShort);
  const SlotCopy copy{0, 1, arenas[0]->data(), arenas[1]->data()};
  route->copy(std::span(&copy, 1), 64);
  while (cudaStreamQuery(first.stream()) == cudaErrorNotReady) {
  }
  EXPECT_EQ(cudaStreamQuery(route->sent(0)), cudaErrorNotReady) << "sent, and not received";
}

// --- Where there is no such path

TEST(NcclPath, IsRefusedWithAReason) {
  set_machine(2, 0);
  const auto without =
      std::make_unique<CudaTransfers>(cuda::find_gpus(), TransferOptions{.workers = 2}, cuda::CopyRouteMaker());
  EXPECT_EQ(without->paths(), (std::vector<CopyPath>{CopyPath::peer, CopyPath::d2d}));
  EXPECT_EQ(without->why_not(kNccl), "NCCL was not there when this was built");
  EXPECT_EQ(without->why_not(CopyPath::peer), "");
  EXPECT_EQ(plugin().open_transfers({.workers = 8})->why_not(kNccl), "8 workers need 8 GPUs, and there are 2");
  EXPECT_EQ(plugin().open_transfers({.workers = 1})->why_not(kNccl), "it is between two workers at least");
  EXPECT_EQ(plugin().open_transfers({.workers = 2})->why_not(kNccl), "");
}

}  // namespace
}  // namespace afore::device
