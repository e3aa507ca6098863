// Ranks that meet over TCP, when all goes well and when some do not come.
#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "processes.h"

namespace afore::device::cuda {
namespace {

using std::chrono::milliseconds;

std::string join(const RendezvousConfig& config, int port, const std::string& host = "127.0.0.1") {
  return outcome(config.rank, [&](std::span<std::byte> blob) { exchange_over_tcp(config, host, port, blob); });
}
std::string serve(const RendezvousConfig& config, Listener& listener) {
  return outcome(0, [&](std::span<std::byte> blob) { exchange_over_tcp(config, listener, blob); });
}

TEST(Tcp, OneRankTouchesNothing) {
  EXPECT_EQ(outcome(0, [](std::span<std::byte> blob) { exchange_over_tcp(config_of(0, 1), "", 0, blob); }), "ok");
}

class Worlds : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Tcp, Worlds, ::testing::Values(2, 8, 64));

TEST_P(Worlds, EveryProcessGetsTheBlob) {
  const std::size_t before = open_descriptors();
  {
    Listener listener(0);
    std::vector<Process> others;
    for (int rank = GetParam() - 1; rank > 0; --rank)
      others.emplace_back([&, rank] { return join(config_of(rank, GetParam()), listener.port()); });
    EXPECT_EQ(serve(config_of(0, GetParam()), listener), "ok");
    for (Process& other : others) EXPECT_EQ(other.wait(), "ok");
  }
  EXPECT_EQ(open_descriptors(), before);
}

// The others are seen to knock, and are turned away, before rank 0 exists.
TEST_P(Worlds, RankZeroMayComeLast) {
  std::vector<Process> others;
  std::optional<Listener> nobody(0);
  const int port = nobody->port();
  for (int rank = 1; rank < GetParam(); ++rank)
    others.emplace_back([&, rank] {
      nobody.reset();  // a child holds what its parent held
      return join(config_of(rank, GetParam()), port);
    });
  std::vector<Descriptor> seen;  // kept, so that nobody knocks twice
  while (seen.size() + 1 < static_cast<std::size_t>(GetParam())) {
    pollfd entry{nobody->descriptor(), POLLIN, 0};
    poll_until({&entry, 1}, Clock::now() + std::chrono::seconds(60));
    ASSERT_NE(entry.revents, 0);
    while (Descriptor socket = nobody->accept()) seen.push_back(std::move(socket));
  }
  seen.clear();
  nobody.reset();
  EXPECT_EQ(join(config_of(0, GetParam()), port), "ok");
  for (Process& other : others) EXPECT_EQ(other.wait(), "ok");
}

TEST(Tcp, ThreadsOfOneProcess) {
  Listener listener(0);
  std::vector<std::string> said(8);
  std::vector<std::thread> threads;
  for (int rank = 1; rank < 8; ++rank)
    threads.emplace_back([&, rank] { said[rank] = join(config_of(rank, 8), listener.port(), "localhost"); });
  said[0] = serve(config_of(0, 8), listener);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(said, std::vector<std::string>(8, "ok"));
}

TEST(Tcp, OverIpv6) {
  Listener listener(0);
  if (std::holds_alternative<std::string>(try_connect("::1", listener.port(), Clock::now() + std::chrono::seconds(5))))
    GTEST_SKIP() << "no address ::1 here";
  std::string other;
  std::thread thread([&] { other = join(config_of(1, 2), listener.port(), "::1"); });
  EXPECT_EQ(serve(config_of(0, 2), listener), "ok");
  thread.join();
  EXPECT_EQ(other, "ok");
}

TEST(Tcp, AProgramThatRanksStartInheritsNoSocket) {
  Listener listener(0);
  const auto connected = try_connect("127.0.0.1", listener.port(), Clock::now() + std::chrono::seconds(30));
  pollfd entry{listener.descriptor(), POLLIN, 0};
  poll_until({&entry, 1}, Clock::now() + std::chrono::seconds(30));
  const Descriptor accepted = listener.accept();
  for (const int number : {listener.descriptor(), std::get<Descriptor>(connected).get(), accepted.get()})
    EXPECT_EQ(::fcntl(number, F_GETFD), FD_CLOEXEC);
}

TEST(Tcp, WhoIsMissingIsSaidToAll) {
  Listener listener(0);
  std::vector<Process> others;
  for (int rank : {1, 3, 4}) others.emplace_back([&, rank] { return join(config_of(rank, 6), listener.port()); });
  const std::string why = "ranks 2, 5 did not come within 2 s";
  EXPECT_EQ(serve(config_of(0, 6, milliseconds(2000)), listener), why);
  for (Process& other : others) EXPECT_EQ(other.wait(), why);
}

// A rank with less patience than rank 0 hears who is missing before it gives up, and so do all others.
TEST(Tcp, TheEarliestDeadlineIsThatOfAll) {
  Listener listener(0);
  std::string hasty, patient;
  std::thread first([&] { hasty = join(config_of(1, 4, milliseconds(2000)), listener.port()); });
  std::thread second([&] { patient = join(config_of(2, 4), listener.port()); });
  const std::string why = "rank 3 did not come before rank 1 gave up";
  EXPECT_EQ(serve(config_of(0, 4), listener), why);
  first.join();
  second.join();
  EXPECT_EQ(hasty, why);
  EXPECT_EQ(patient, why);
}

TEST(Tcp, WithoutRankZero) {
  int port = 0;
  {
    const Listener free(0);
    port = free.port();
  }
  EXPECT_EQ(join(config_of(1, 2, milliseconds(200)), port),
            "rank 0 did not come within 0.2 s (127.0.0.1:" + std::to_string(port) + ": Connection refused)");
}

TEST(Tcp, APortInUseIsOneClearError) {
  const Listener taken(0);
  EXPECT_EQ(join(config_of(0, 2), taken.port()), "port " + std::to_string(taken.port()) + " is in use on this host");
}

TEST(Tcp, WhatCannotBeAsked) {
  EXPECT_EQ(join(config_of(1, 2), 0, ""), "the 2 ranks cannot meet at ':0'");
  EXPECT_EQ(join(config_of(2, 2), 1), "rank 2 of 2: ranks go from 0 to 1");
  EXPECT_EQ(join(config_of(0, 0), 1), "a world of 0 ranks: 1 to 8000 are possible");
  const std::string unknown = join(config_of(1, 2), 1, "no such host.invalid");
  EXPECT_EQ(unknown.find("the host of rank 0, 'no such host.invalid', is not known: "), 0u) << unknown;
}

}  // namespace
}  // namespace afore::device::cuda
