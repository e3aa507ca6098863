// What NCCL's stand-in shows of slips that a program with NCCL may have.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>

#include "kernels/gpu.h"
#include "kernels/shim/nccl_api.h"
#include "kernels/shim/nccl_settings.h"

namespace afore::shim {
namespace {

constexpr std::size_t kBytes = 64;

// Two ranks on two devices.
class ShimNccl : public ::testing::Test {
 protected:
  void SetUp() override {
    set_devices(2);
    set_schedule(0);
    set_message_fates(nullptr);
    ncclUniqueId id;
    ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
    for (int rank = 0; rank < 2; ++rank) {
      cudaSetDevice(rank);
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      config.blocking = 0;
      ASSERT_EQ(ncclCommInitRankConfig(&comms[rank], 2, id, rank, &config), ncclInProgress);
      cudaStreamCreate(&streams[rank]);
      cudaMalloc(&memory[rank], kBytes);
    }
  }
  void TearDown() override {
    for (const ncclComm_t comm : comms) EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
    for (const cudaStream_t stream : streams) EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess) << "freed";
    EXPECT_EQ(num_communicators(), 0);
    EXPECT_EQ(ncclCommAbort(comms[0]), ncclInvalidArgument) << "it is gone";
    set_devices(1);
  }
  ncclResult_t send(int rank, std::size_t count) {
    return ncclSend(memory[rank], count, ncclInt8, 1 - rank, comms[rank], streams[rank]);
  }
  ncclResult_t receive(int rank, std::size_t count) {
    return ncclRecv(memory[rank], count, ncclInt8, 1 - rank, comms[rank], streams[rank]);
  }
  ncclResult_t settle(int rank) {
    ncclResult_t state = ncclInProgress;
    while (state == ncclInProgress) ncclCommGetAsyncError(comms[rank], &state);
    return state;
  }
  void expect_that_all_hang() {
    for (int look = 0; look < 100; ++look)
      for (const cudaStream_t stream : streams) EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
  }

  std::array<ncclComm_t, 2> comms{};
  std::array<cudaStream_t, 2> streams{};
  std::array<std::byte*, 2> memory{};
};

TEST_F(ShimNccl, SizesThatDifferAreAnErrorOfBothRanks) {
  ncclGroupStart();
  EXPECT_EQ(send(0, 5), ncclSuccess);
  EXPECT_EQ(receive(1, 6), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclInProgress);
  EXPECT_EQ(settle(0), ncclInvalidUsage);
  EXPECT_EQ(settle(1), ncclInvalidUsage);
  EXPECT_STREQ(ncclGetLastError(nullptr), "rank 0 sends 5 bytes and rank 1 receives 6");
  expect_that_all_hang();
}

TEST_F(ShimNccl, WhatAGroupAskedForIsOnItsStreamsLater) {
  ncclGroupStart();
  send(0, 5);
  receive(1, 5);
  EXPECT_EQ(ncclGroupEnd(), ncclInProgress);
  for (const cudaStream_t stream : streams) EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess) << "nothing is on it";
  ncclGroupStart();
  EXPECT_EQ(send(0, 5), ncclInvalidUsage) << "the last group is not on its streams";
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
  EXPECT_EQ(settle(0), ncclSuccess);
  EXPECT_EQ(settle(1), ncclSuccess);
  for (const cudaStream_t stream : streams) EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
}

TEST_F(ShimNccl, BytesAndStreamsAreTheRanksOwn) {
  ncclGroupStart();
  EXPECT_EQ(send(0, kBytes + 1), ncclInvalidArgument);
  EXPECT_EQ(ncclSend(memory[1], 5, ncclInt8, 1, comms[0], streams[0]), ncclInvalidArgument);
  EXPECT_EQ(ncclSend(memory[0], 5, ncclInt8, 1, comms[0], streams[1]), ncclInvalidArgument);
  EXPECT_EQ(ncclSend(memory[0], 5, ncclInt8, 2, comms[0], streams[0]), ncclInvalidArgument);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument) << "and nothing of the group is done";
  EXPECT_EQ(send(0, 5), ncclInvalidUsage) << "no group";
}

// Two GPUs that get to each other's kernels in another order wait for ever, as on GPUs.
TEST_F(ShimNccl, KernelsThatWaitForLaterOnesHang) {
  for (const int rank : {0, 1}) {
    ncclGroupStart();
    send(rank, 9);
    ncclGroupEnd();
    EXPECT_EQ(settle(rank), ncclSuccess);
    ncclGroupStart();
    receive(rank, 9);
    ncclGroupEnd();
    EXPECT_EQ(settle(rank), ncclSuccess);
  }
  expect_that_all_hang();
}

// The same in one group of each rank.
TEST_F(ShimNccl, KernelsThatSendAndReceiveDoNot) {
  for (const int rank : {0, 1}) {
    ncclGroupStart();
    send(rank, 9);
    receive(rank, 9);
    ncclGroupEnd();
    EXPECT_EQ(settle(rank), ncclSuccess);
  }
  for (const cudaStream_t stream : streams) EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
}

TEST_F(ShimNccl, AGpuHasOneRank) {
  ncclUniqueId id;
  ncclGetUniqueId(&id);
  ncclConfig_t config{0};
  ncclComm_t first = nullptr, second = nullptr;
  ASSERT_EQ(ncclCommInitRankConfig(&first, 2, id, 0, &config), ncclInProgress);
  EXPECT_EQ(ncclCommInitRankConfig(&second, 2, id, 1, &config), ncclInvalidUsage);
  EXPECT_STREQ(ncclGetLastError(nullptr), "Duplicate GPU detected");
  ncclResult_t state = ncclSuccess;
  ncclCommGetAsyncError(first, &state);
  EXPECT_EQ(state, ncclInProgress) << "a rank has not come";
  EXPECT_EQ(ncclCommAbort(first), ncclSuccess);
}

}  // namespace
}  // namespace afore::shim
