// What NcclGroup does with NCCL, against the stand-in of fake_nccl.h.
#include "device/cuda/nccl_group.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "fake_nccl.h"
#include "util/error.h"

namespace afore::device::cuda {
namespace {

using Calls = std::vector<std::string>;
using std::chrono::milliseconds;
constexpr milliseconds kLong{60'000}, kShort{20};
const std::vector<LocalRank> kRanks = {{2, 1}, {3, 5}}, kProcess = {{0, 4}, {1, 2}};

class Group : public ::testing::Test {
 protected:
  Group() {
    fake.calls.clear();
    fake.devices = 8;
    fake.bad_device = -1;
    fake.result = [](const std::string&) { return ncclSuccess; };
    fake.state = [](int) { return ncclSuccess; };
    fake.looks = 0;
    fake.use_after_free = 0;
  }
  ~Group() override { EXPECT_EQ(fake.use_after_free, 0); }

  std::unique_ptr<NcclGroup> made() {
    auto group = std::make_unique<NcclGroup>(ncclUniqueId{}, 4, kRanks, kLong);
    fake.calls.clear();
    return group;
  }
  static std::vector<SumPart> parts(std::size_t count) {
    return {{3, nullptr, nullptr, nullptr, count}, {2, nullptr, nullptr, nullptr, count}};
  }
};

template <typename Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST_F(Group, BeginsAndEndsAsOneGroup) {
  { const NcclGroup group(ncclUniqueId{}, 4, kRanks, kLong); }
  EXPECT_EQ(fake.calls, (Calls{"start", "device1", "init2", "device5", "init3", "end", "device0", "start", "finalize2",
                               "finalize3", "end", "destroy2", "destroy3"}));
}

TEST_F(Group, IsMadeOfOneProcess) {
  { const auto group = make_nccl_group(kProcess); }
  EXPECT_EQ(fake.calls, (Calls{"id", "start", "device4", "init0", "device2", "init1", "end", "device0", "start",
                               "finalize0", "finalize1", "end", "destroy0", "destroy1"}));
  fake.result = [](const std::string& call) { return call == "id" ? ncclSystemError : ncclSuccess; };
  EXPECT_EQ(error_of([] { make_nccl_group(kProcess); }), "NCCL: an id for a group: a fake error (its?cause)");
}

TEST_F(Group, WaitsForRanksInOtherProcesses) {
  fake.state = [](int) { return fake.looks < 1000 ? ncclInProgress : ncclSuccess; };
  fake.result = [](const std::string& call) { return call == "end" ? ncclInProgress : ncclSuccess; };
  { const NcclGroup group(ncclUniqueId{}, 4, kRanks, kLong); }
  EXPECT_GE(fake.looks, 1000);
  EXPECT_EQ(fake.calls.back(), "destroy3");
}

TEST_F(Group, RanksThatDoNotComeAreAnErrorAtTheDeadline) {
  fake.state = [](int rank) { return rank == 3 ? ncclInProgress : ncclSuccess; };
  EXPECT_EQ(error_of([] { NcclGroup(ncclUniqueId{}, 4, kRanks, kShort); }),
            "not all of 4 ranks came to the group within 0.02 s");
  EXPECT_EQ(Calls(fake.calls.end() - 2, fake.calls.end()), (Calls{"abort2", "abort3"}));
}

TEST_F(Group, WhatFailsToBeginIsAborted) {
  fake.result = [](const std::string& call) { return call == "init3" ? ncclInvalidUsage : ncclSuccess; };
  EXPECT_EQ(error_of([] { NcclGroup(ncclUniqueId{}, 4, kRanks, kLong); }),
            "NCCL: the group cannot begin: a fake error (its?cause)");
  EXPECT_EQ(fake.calls, (Calls{"start", "device1", "init2", "device5", "init3", "end", "device0", "abort2"}));
}

TEST_F(Group, ADeviceThatIsNotToBeHadLeavesNoGroupOpen) {
  fake.bad_device = 5;
  EXPECT_EQ(error_of([] { NcclGroup(ncclUniqueId{}, 4, kRanks, kLong); }), "CUDA: a rank's device: a fake CUDA error");
  EXPECT_EQ(fake.calls, (Calls{"start", "device1", "init2", "device5", "end", "device0", "abort2"}));
}

TEST_F(Group, ADeviceThatIsNotThere) {
  fake.devices = 5;
  EXPECT_EQ(error_of([] { NcclGroup(ncclUniqueId{}, 4, kRanks, kLong); }),
            "rank 3 is on device 5, and this process sees 5 devices");
  EXPECT_EQ(fake.calls, Calls{});
}

TEST_F(Group, SumsAreMadeInTheOrderOfTheirNumbersWhoeverCalls) {
  const auto group = made();
  std::vector<std::thread> threads;
  for (std::uint64_t sequence : {3, 1, 2, 0})
    threads.emplace_back([&, sequence] { group->all_reduce(sequence, parts(10 + sequence), kLong); });
  for (std::thread& thread : threads) thread.join();
  Calls expected;
  for (const char* count : {"10", "11", "12", "13"})
    for (const std::string& call : {std::string("start"), "sum" + std::string(count) + ":2",
                                    "sum" + std::string(count) + ":3", std::string("end")})
      expected.push_back(call);
  EXPECT_EQ(fake.calls, expected);
}

TEST_F(Group, ASumThatIsNeverMadeEndsTheGroup) {
  const auto group = made();
  const std::string why = "call 1 did not get its turn in time: call 0 was not made";
  EXPECT_EQ(error_of([&] { group->all_reduce(1, parts(1), kShort); }), why);
  EXPECT_EQ(error_of([&] { group->all_reduce(0, parts(1), kLong); }), why);
  EXPECT_EQ(error_of([&] { group->check(); }), why);
  EXPECT_EQ(fake.calls, (Calls{"abort2", "abort3"}));
}

TEST_F(Group, ASumThatFailsEndsTheGroup) {
  const auto group = made();
  fake.result = [](const std::string& call) { return call == "sum1:2" ? ncclInternalError : ncclSuccess; };
  const std::string why = "NCCL: a sum cannot begin: a fake error (its?cause)";
  EXPECT_EQ(error_of([&] { group->all_reduce(0, parts(1), kLong); }), why);
  EXPECT_EQ(error_of([&] { group->all_reduce(1, parts(1), kLong); }), why);
  EXPECT_EQ(fake.calls, (Calls{"start", "sum1:2", "end", "abort2", "abort3"}));
}

TEST_F(Group, WhatBreaksOnAPeerIsSeenByALook) {
  const auto group = made();
  group->check();
  fake.state = [](int rank) { return rank == 2 ? ncclInProgress : ncclSuccess; };
  group->check();
  EXPECT_EQ(fake.calls, Calls{});
  fake.state = [](int rank) { return rank == 3 ? ncclRemoteError : ncclSuccess; };
  const std::string why = "NCCL: rank 3: a fake error (its?cause)";
  EXPECT_EQ(error_of([&] { group->check(); }), why);
  EXPECT_EQ(error_of([&] { group->check(); }), why);
  EXPECT_EQ(error_of([&] { group->all_reduce(0, parts(1), kLong); }), why);
  EXPECT_EQ(fake.calls, (Calls{"abort2", "abort3"}));
}

// Two threads are inside, one in a sum that hangs and one behind it, when a third aborts.
TEST_F(Group, AnAbortFreesWhoeverWaits) {
  const auto group = made();
  fake.state = [](int) { return ncclInProgress; };
  fake.looks = 0;
  std::string first, second;
  std::thread hangs([&] { first = error_of([&] { group->all_reduce(0, parts(1), kLong); }); });
  std::thread behind([&] { second = error_of([&] { group->all_reduce(1, parts(1), kLong); }); });
  while (fake.looks == 0) std::this_thread::yield();
  group->abort("worker 7 died");
  group->abort("later reasons do not count");
  hangs.join();
  behind.join();
  EXPECT_EQ(first, "worker 7 died");
  EXPECT_EQ(second, "worker 7 died");
  EXPECT_EQ(fake.calls, (Calls{"start", "sum1:2", "sum1:3", "end", "abort2", "abort3"}));
}

TEST_F(Group, ASumNeedsAPartForEachRank) {
  const auto group = made();
  std::vector<SumPart> sum = parts(1);
  EXPECT_THROW(group->all_reduce(0, std::span(sum).first(1), kLong), Error);
  sum[0].count = 2;
  EXPECT_THROW(group->all_reduce(0, sum, kLong), Error);
  EXPECT_EQ(fake.calls, Calls{});
}

}  // namespace
}  // namespace afore::device::cuda
