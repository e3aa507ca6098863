// What of NCCL works without a GPU: ids, and clear refusals.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "device/cuda/nccl_group.h"
#include "processes.h"

namespace afore::device::cuda {
namespace {

static_assert(sizeof(ncclUniqueId) == sizeof(Blob));

std::string as_text(std::span<const std::byte> blob) {
  return std::string(reinterpret_cast<const char*>(blob.data()), blob.size());
}

// As the ranks of a job do it: NCCL is called in processes that were forked before.
TEST(Nccl, AnIdReachesEveryProcess) {
  Listener listener(0);
  std::vector<Process> ranks;
  for (int rank = 0; rank < 4; ++rank)
    ranks.emplace_back([&, rank]() -> std::string {
      ncclUniqueId id{};
      const std::span<std::byte> bytes = std::as_writable_bytes(std::span(&id, 1));
      if (rank != 0) exchange_over_tcp(config_of(rank, 4), "127.0.0.1", listener.port(), bytes);
      else if (ncclGetUniqueId(&id) != ncclSuccess) return "no id";
      else exchange_over_tcp(config_of(0, 4), listener, bytes);
      return as_text(bytes);
    });
  std::vector<std::string> ids;
  for (Process& rank : ranks) ids.push_back(rank.wait());
  EXPECT_EQ(ids[0].size(), sizeof(ncclUniqueId));
  EXPECT_NE(ids[0], std::string(sizeof(ncclUniqueId), '\0'));
  EXPECT_EQ(ids, std::vector<std::string>(4, ids[0]));
}

std::string error_of(int world_size, const std::vector<LocalRank>& ranks, ErrorKind kind) {
  try {
    NcclGroup(ncclUniqueId{}, world_size, ranks, std::chrono::seconds(10));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  return "no error";
}

TEST(Nccl, RanksThatMakeNoGroup) {
  EXPECT_EQ(error_of(4, {{0, 0}, {1, 1}, {3, 1}}, ErrorKind::usage),
            "ranks 1 and 3 are both on device 1: NCCL has one rank per GPU");
  EXPECT_EQ(error_of(4, {{1, 0}, {1, 1}}, ErrorKind::usage), "rank 1 is there twice");
  EXPECT_EQ(error_of(4, {{4, 0}}, ErrorKind::usage), "rank 4 of 4: ranks go from 0 to 3");
  EXPECT_EQ(error_of(4, {}, ErrorKind::usage), "a process without ranks has no part in a group");
}

TEST(Nccl, WithoutADriverThereIsOneClearError) {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) GTEST_SKIP() << "there is a driver";
  const std::string said = error_of(2, {{0, 0}, {1, 1}}, ErrorKind::io);
  EXPECT_EQ(said.find("no GPU can be used: "), 0u) << said;
}

}  // namespace
}  // namespace afore::device::cuda
