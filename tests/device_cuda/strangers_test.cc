// Who else may knock at rank 0's port, or listen there in its place.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <thread>

#include "device/cuda/rendezvous_frame.h"
#include "processes.h"

namespace afore::device::cuda {
namespace {

using std::chrono::milliseconds;

Descriptor knock(int port) {
  return std::move(std::get<Descriptor>(try_connect("127.0.0.1", port, Clock::now() + std::chrono::seconds(30))));
}
void say(const Descriptor& socket, std::string bytes) { EXPECT_EQ(send_now(socket.get(), bytes), Transfer::done); }

// Everything until the other side closes.
std::string hear(const Descriptor& socket) {
  std::string bytes;
  for (;;) {
    const Transfer got = receive_now(socket.get(), bytes);
    if (got == Transfer::lost) return bytes;
    if (got == Transfer::done) continue;
    pollfd entry{socket.get(), POLLIN, 0};
    poll_until({&entry, 1}, Clock::now() + std::chrono::seconds(60));
    if (entry.revents == 0) return "not closed";
  }
}

std::string greeting(std::uint32_t rank, std::uint32_t world_size, const std::string& token = "job 1",
                     std::uint64_t nonce = 1, std::uint32_t blob_bytes = sizeof(Blob)) {
  return encode(Frame{FrameKind::greeting, encode(Greeting{.world_size = world_size,
                                                           .rank = rank,
                                                           .blob_bytes = blob_bytes,
                                                           .patience_ms = 60'000,
                                                           .nonce = nonce,
                                                           .token = token})});
}

// Rank 0 of 2 in a thread.
class Host {
 public:
  explicit Host(RendezvousConfig config = config_of(0, 2))
      : thread_([this, config] {
          said_ = outcome(0, [&](std::span<std::byte> blob) { exchange_over_tcp(config, listener_, blob); });
        }) {}
  ~Host() {
    if (thread_.joinable()) thread_.join();
  }
  int port() const { return listener_.port(); }
  std::string said() {
    thread_.join();
    return said_;
  }
  std::string join(const RendezvousConfig& config) {
    return outcome(1, [&](std::span<std::byte> blob) { exchange_over_tcp(config, "127.0.0.1", port(), blob); });
  }

 private:
  Listener listener_{0};
  std::string said_;
  std::thread thread_;
};

TEST(Strangers, NeitherBlockNorCrash) {
  Host host;
  const std::string whole = greeting(1, 2);
  std::vector<Descriptor> strangers;
  for (int i = 0; i < 20; ++i) strangers.push_back(knock(host.port()));  // these say nothing
  for (std::size_t cut = 1; cut < whole.size(); cut += 5) {              // and these stop in the middle
    strangers.push_back(knock(host.port()));
    say(strangers.back(), whole.substr(0, cut));
  }
  const Descriptor garbage = knock(host.port());
  say(garbage, "GET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(hear(garbage), "");
  const Descriptor large = knock(host.port());
  std::string header = encode(Frame{FrameKind::greeting, ""});
  header.replace(12, 4, "\xff\xff\xff\xff");
  say(large, header);
  EXPECT_EQ(hear(large), "");
  const Descriptor early = knock(host.port());  // a frame, but not a greeting
  say(early, encode(Frame{FrameKind::received, ""}));
  EXPECT_EQ(hear(early), "");
  const Descriptor empty = knock(host.port());  // a greeting with nothing in it
  say(empty, encode(Frame{FrameKind::greeting, ""}));
  EXPECT_EQ(hear(empty), "");
  EXPECT_EQ(host.join(config_of(1, 2)), "ok");
  EXPECT_EQ(host.said(), "ok");
}

TEST(Strangers, TheSlowAreCutOff) {
  RendezvousConfig config = config_of(0, 2);
  config.greeting_timeout = milliseconds(50);
  Host host(config);
  const Descriptor silent = knock(host.port());
  const Descriptor half = knock(host.port());
  say(half, greeting(1, 2).substr(0, 20));
  EXPECT_EQ(hear(silent), "");
  EXPECT_EQ(hear(half), "");
  EXPECT_EQ(host.join(config_of(1, 2)), "ok");
  EXPECT_EQ(host.said(), "ok");
}

TEST(Strangers, AFloodDoesNotKeepARankOut) {
  Host host;
  std::vector<Descriptor> flood;
  for (int i = 0; i < 300; ++i) flood.push_back(knock(host.port()));
  EXPECT_EQ(host.join(config_of(1, 2)), "ok");
  EXPECT_EQ(host.said(), "ok");
}

// Rank 0 may have so few descriptors that strangers hold them all: then the oldest stranger goes.
TEST(Strangers, CannotUseUpTheDescriptors) {
  Listener listener(0);
  Process host([&] {
    const rlimit few = {.rlim_cur = open_descriptors() + 8, .rlim_max = open_descriptors() + 8};
    if (::setrlimit(RLIMIT_NOFILE, &few) != 0) return std::string("no limit");
    return outcome(0, [&](std::span<std::byte> blob) { exchange_over_tcp(config_of(0, 2), listener, blob); });
  });
  std::vector<Descriptor> strangers;
  for (int i = 0; i < 30; ++i) strangers.push_back(knock(listener.port()));
  EXPECT_EQ(outcome(1,
                    [&](std::span<std::byte> blob) {
                      exchange_over_tcp(config_of(1, 2), "127.0.0.1", listener.port(), blob);
                    }),
            "ok");
  EXPECT_EQ(host.wait(), "ok");
}

TEST(Strangers, AnotherJobIsRefusedAndChangesNothing) {
  Host host;
  RendezvousConfig other = config_of(1, 2);
  other.job_token = "job\x1b 2";
  EXPECT_EQ(host.join(other), "rank 1 is of job 'job? 2', and rank 0 of job 'job 1'");
  EXPECT_EQ(host.join(config_of(1, 2)), "ok");
  EXPECT_EQ(host.said(), "ok");
}

TEST(Strangers, AnotherWorldSizeIsNamedOnBothSides) {
  Host host;
  const std::string why = "rank 1 was started in a world of 3 ranks, and rank 0 in one of 2";
  EXPECT_EQ(host.join(config_of(1, 3)), why);
  EXPECT_EQ(host.said(), why);
}

TEST(Strangers, WhoWasStartedWronglyIsNamed) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {greeting(0, 2), "another process says that it is rank 0 of 2"},
      {greeting(2, 2), "another process says that it is rank 2 of 2"},
      {greeting(1, 2, "job 1", 1, 64), "rank 1 expects 64 bytes, and rank 0 has 128"}};
  for (const auto& [bytes, why] : cases) {
    Host host;
    const Descriptor socket = knock(host.port());
    say(socket, bytes);
    EXPECT_EQ(hear(socket), encode(Frame{FrameKind::failed, why}));
    EXPECT_EQ(host.said(), why);
  }
}

TEST(Strangers, TwoLivingProcessesWithOneRankEndIt) {
  Host host(config_of(0, 3));
  const Descriptor first = knock(host.port());
  say(first, greeting(1, 3, "job 1", 1));
  pollfd entry{first.get(), POLLIN, 0};
  poll_until({&entry, 1}, Clock::now() + std::chrono::seconds(60));  // it is known to rank 0 when it has the blob
  const Descriptor second = knock(host.port());
  say(second, greeting(1, 3, "job 1", 2));
  const std::string why = "two processes say that they are rank 1 of 3";
  EXPECT_EQ(hear(second), encode(Frame{FrameKind::failed, why}));
  EXPECT_EQ(host.said(), why);
}

TEST(Strangers, TheSameCallMayComeAgain) {
  Host host;
  const std::string blob(reinterpret_cast<const char*>(sent_blob().data()), sizeof(Blob));
  const Descriptor first = knock(host.port());
  say(first, greeting(1, 2, "job 1", 7));
  const Descriptor second = knock(host.port());
  say(second, greeting(1, 2, "job 1", 7));
  EXPECT_EQ(hear(first), encode(Frame{FrameKind::blob, blob}));  // given the blob, then replaced
  say(second, encode(Frame{FrameKind::received, ""}));
  EXPECT_EQ(hear(second), encode(Frame{FrameKind::blob, blob}) + encode(Frame{FrameKind::complete, ""}));
  EXPECT_EQ(host.said(), "ok");
}

TEST(Strangers, ARankMayComeBackInANewProcess) {
  Host host;
  {
    const Descriptor first = knock(host.port());
    say(first, greeting(1, 2, "job 1", 7));
    pollfd entry{first.get(), POLLIN, 0};
    poll_until({&entry, 1}, Clock::now() + std::chrono::seconds(60));
  }
  EXPECT_EQ(host.join(config_of(1, 2)), "ok");
  EXPECT_EQ(host.said(), "ok");
}

TEST(Strangers, ARankThatDiesIsMissedEvenWithItsBlob) {
  Host host(config_of(0, 3, milliseconds(500)));
  {
    const Descriptor dies = knock(host.port());
    say(dies, greeting(1, 3) + encode(Frame{FrameKind::received, ""}));
    pollfd entry{dies.get(), POLLIN, 0};
    poll_until({&entry, 1}, Clock::now() + std::chrono::seconds(60));
  }
  EXPECT_EQ(host.said(), "rank 2 did not come within 0.5 s; rank 1 came, but did not stay to the end");
}

// The other way round: what listens is not rank 0.
std::string join_what_says(const std::string& bytes, milliseconds timeout) {
  Listener listener(0);
  std::thread stranger([&] {
    pollfd entry{listener.descriptor(), POLLIN, 0};
    poll_until({&entry, 1}, Clock::now() + std::chrono::seconds(60));
    const Descriptor socket = listener.accept();
    say(socket, bytes);
    hear(socket);
  });
  const std::string said = outcome(1, [&](std::span<std::byte> blob) {
    exchange_over_tcp(config_of(1, 2, timeout), "127.0.0.1", listener.port(), blob);
  });
  stranger.join();
  const std::string place = "127.0.0.1:" + std::to_string(listener.port());
  const std::size_t at = said.find(place);
  return at == std::string::npos ? said : said.substr(0, at) + "PLACE" + said.substr(at + place.size());
}

TEST(Strangers, InRankZerosPlace) {
  const std::string not_ours = "what listens at PLACE is not rank 0 of this version of afore";
  const milliseconds minute(60'000);
  EXPECT_EQ(join_what_says("220 mail ready\r\n", minute), not_ours);
  EXPECT_EQ(join_what_says(encode(Frame{FrameKind::complete, ""}), minute), not_ours);
  EXPECT_EQ(join_what_says(encode(Frame{FrameKind::blob, "short"}), minute), not_ours);
  EXPECT_EQ(join_what_says(encode(Frame{FrameKind::blob, std::string(4096, 'x')}), minute), not_ours);
  EXPECT_EQ(join_what_says("", milliseconds(100)), "PLACE took the connection, but said nothing more within 0.1 s");
}

}  // namespace
}  // namespace afore::device::cuda
