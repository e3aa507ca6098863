#include <gtest/gtest.h>

#include "device/cuda/rendezvous_frame.h"

namespace afore::device::cuda {
namespace {

const Greeting kGreeting{
    .world_size = 8, .rank = 3, .blob_bytes = 128, .patience_ms = 29'000, .nonce = 0x0102030405060708, .token = "job"};

TEST(Frame, BytesAreAsDocumented) {
  const std::string bytes = encode(Frame{FrameKind::greeting, encode(kGreeting)});
  const std::string expected(
      "AFORERV1\1\0\0\0\x1b\0\0\0"
      "\x8\0\0\0\x3\0\0\0\x80\0\0\0\x48\x71\0\0\x8\x7\x6\x5\x4\x3\x2\x1job",
      43);
  EXPECT_EQ(bytes, expected);
}

TEST(Frame, AStreamCutAnywhereGivesTheSameFrames) {
  const std::string bytes = encode(Frame{FrameKind::blob, "abc"}) + encode(Frame{FrameKind::complete, ""});
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    FrameReader reader;
    std::string seen;
    for (const std::string& part : {bytes.substr(0, cut), bytes.substr(cut)}) {
      reader.feed(part);
      while (const auto frame = reader.next()) seen += std::to_string(static_cast<int>(frame->kind)) + frame->payload;
      EXPECT_FALSE(reader.broken());
    }
    EXPECT_EQ(seen, "2abc4") << cut;
  }
}

TEST(Frame, StrangeBytesAreSeenAtOnce) {
  const auto broken = [](std::string_view bytes) {
    FrameReader reader;
    reader.feed(bytes);
    EXPECT_FALSE(reader.next());
    return reader.broken();
  };
  EXPECT_TRUE(broken("G"));
  EXPECT_TRUE(broken("AFORERV2"));
  EXPECT_FALSE(broken("AFORERV1"));
  std::string bytes = encode(Frame{FrameKind::blob, ""});
  bytes[8] = 0;
  EXPECT_TRUE(broken(bytes));
  bytes[8] = 9;
  EXPECT_TRUE(broken(bytes));
  bytes[8] = 1;
  bytes[14] = 2;  // 128 KiB of payload
  EXPECT_TRUE(broken(bytes));

  FrameReader reader;  // behind a good frame too
  reader.feed(encode(Frame{FrameKind::blob, ""}) + "x");
  EXPECT_TRUE(reader.next());
  EXPECT_TRUE(reader.broken());
}

// Every shorter payload is refused, or is one with a shorter tail of free text.
TEST(Frame, PayloadsCutShort) {
  const std::string greeting = encode(kGreeting);
  for (std::size_t size = 0; size < greeting.size(); ++size)
    EXPECT_EQ(decode_greeting(std::string(greeting, 0, size)).has_value(), size >= 24) << size;
  EXPECT_EQ(decode_greeting(greeting)->token, "job");

  const std::string offer = encode(Offer{5, 8, "job", "blob"});
  for (std::size_t size = 0; size < offer.size(); ++size)
    EXPECT_EQ(decode_offer(std::string(offer, 0, size)).has_value(), size >= 19) << size;
  EXPECT_EQ(decode_offer(offer)->token, "job");
  EXPECT_EQ(decode_offer(offer)->blob, "blob");

  const std::string answer = encode(Answer{5, kGreeting});
  for (std::size_t size = 0; size < answer.size(); ++size)
    EXPECT_EQ(decode_answer(std::string(answer, 0, size)).has_value(), size >= 32) << size;
  EXPECT_EQ(decode_answer(answer)->greeting.rank, 3u);

  const std::string verdict = encode(Verdict{{5, 6}, "text"});
  for (std::size_t size = 0; size < verdict.size(); ++size)
    EXPECT_EQ(decode_verdict(std::string(verdict, 0, size)).has_value(), size >= 20) << size;
  EXPECT_EQ(decode_verdict(verdict)->nonces, (std::vector<std::uint64_t>{5, 6}));
  EXPECT_FALSE(decode_verdict("\xff\xff\xff\xff"));
}

TEST(Frame, AFileIsOneWholeFrame) {
  const std::string bytes = encode(Frame{FrameKind::offer, "abc"});
  EXPECT_TRUE(decode_frame(bytes));
  EXPECT_FALSE(decode_frame(bytes + "x"));
  EXPECT_FALSE(decode_frame(bytes.substr(0, bytes.size() - 1)));
  EXPECT_FALSE(decode_frame(""));
}

TEST(Frame, APeersTextIsHarmless) {
  EXPECT_EQ(printable("a\x1b[2J\nb"), "a?[2J?b");
  EXPECT_EQ(printable(std::string(5000, 'x')).size(), 1000u);
}

}  // namespace
}  // namespace afore::device::cuda
