// The ring by itself, one thread: what is told of each plan, room, damage, epochs and lost readers.
#include "host/threads/shared_ring.h"

#include <cstring>
#include <limits>

#include "random_plans.h"
#include "util/error.h"

namespace afore::host {
namespace {

using std::chrono::steady_clock;

RingOptions small_ring(int readers = 1) {
  RingOptions options;
  options.readers = readers;
  options.cells = 24;
  options.cell_bytes = 128;
  options.shape = {4, 2, 3};
  return options;
}

struct RingTest : testing::Test {
  explicit RingTest(const RingOptions& o = small_ring()) : options(o) {
    SharedMemory memory("ring_test", SharedRing::memory_bytes(options));
    const auto size = options.cell_bytes * static_cast<std::size_t>(options.cells);
    cells = memory.bytes().last(size);
    ring = std::make_unique<SharedRing>(std::move(memory), options);
  }
  pipeline::PlanPtr plan(std::int64_t serial) {
    Draw draw{static_cast<std::uint64_t>(serial)};
    return random_plan(draw, options.shape, serial);
  }
  bool publish(std::int64_t serial) { return ring->publish(*plan(serial)); }
  std::size_t cells_of(std::int64_t serial) {
    std::string bytes;
    encode_plan(*plan(serial), bytes);
    return (48 + bytes.size() + options.cell_bytes - 1) / options.cell_bytes;  // behind its head
  }
  std::string take(std::int64_t expected, std::int64_t epoch = 0, int reader = 0) {
    const Taken taken = ring->take(reader, expected, epoch);
    EXPECT_EQ(taken.plan != nullptr, taken.verdict == Verdict::plan);
    if (taken.plan) {
      std::string got, given;
      encode_plan(*taken.plan, got);
      encode_plan(*plan(taken.plan->serial), given);
      EXPECT_EQ(got, given);
    }
    return taken.plan ? std::to_string(taken.plan->serial) : to_string(taken.verdict);
  }

  RingOptions options;
  std::span<std::byte> cells;
  std::unique_ptr<SharedRing> ring;
};

TEST_F(RingTest, PlansComeInOrder) {
  EXPECT_EQ(take(0), "none");
  for (std::int64_t serial = 0; serial < 500; ++serial) {  // many times around
    ASSERT_TRUE(publish(serial));
    EXPECT_EQ(take(serial), std::to_string(serial));
    EXPECT_EQ(take(serial + 1), "none");
  }
  EXPECT_EQ(ring->counts(0).plans, 500);
}

TEST_F(RingTest, WhatTheReaderDoesNotExpectIsSkippedAndCounted) {
  for (const std::int64_t serial : {3, 4, 9, 5}) ASSERT_TRUE(publish(serial));
  EXPECT_EQ(take(4), "late");
  EXPECT_EQ(take(4), "4");
  EXPECT_EQ(take(5), "out of order");
  EXPECT_EQ(take(5), "5");
  EXPECT_EQ(take(6), "none");
  const RingCounts counts = ring->counts(0);
  EXPECT_EQ(counts.plans, 2);
  EXPECT_EQ(counts.late, 1);
  EXPECT_EQ(counts.out_of_order, 1);
  EXPECT_EQ(counts.stale + counts.damaged, 0);
}

TEST_F(RingTest, PlansOfAnotherEpochAreNotTaken) {
  ASSERT_TRUE(publish(0));
  EXPECT_EQ(take(0, 1), "stale");
  ring->clear(2);
  ASSERT_TRUE(publish(0));
  EXPECT_EQ(take(0, 1), "early");
  EXPECT_EQ(take(0, 1), "early");  // it stays
  EXPECT_EQ(take(0, 2), "0");
  EXPECT_EQ(ring->counts(0).stale, 1);
}

TEST_F(RingTest, ANewEpochMakesVoidWhatWasNotTaken) {
  for (std::int64_t serial = 0; serial < 3; ++serial) ASSERT_TRUE(publish(serial));
  EXPECT_EQ(take(0), "0");
  ring->clear(1);
  EXPECT_EQ(take(1, 1), "none");
  ASSERT_TRUE(publish(1));
  EXPECT_EQ(take(1, 1), "1");
  EXPECT_EQ(ring->counts(0).stale, 0);
}

struct TwoReaders : RingTest {
  TwoReaders() : RingTest(small_ring(2)) {}
  std::int64_t fill() {
    std::int64_t serial = 0;
    while (publish(serial)) ++serial;
    return serial;
  }
};

TEST_F(TwoReaders, RoomIsReusedOnlyAfterTheSlowestReader) {
  std::size_t used = 0;
  const std::int64_t held = fill();
  for (std::int64_t serial = 0; serial < held; ++serial) used += cells_of(serial);
  EXPECT_LE(used, 24u);
  EXPECT_GT(used + cells_of(held), 24u);
  for (std::int64_t serial = 0; serial < held; ++serial) EXPECT_EQ(take(serial, 0, 0), std::to_string(serial));
  EXPECT_FALSE(publish(held));  // reader 1 has copied none
  EXPECT_EQ(take(0, 0, 1), "0");
  for (std::int64_t serial = 1; serial < held; ++serial) EXPECT_EQ(take(serial, 0, 1), std::to_string(serial));
  EXPECT_TRUE(publish(held));
}

TEST_F(TwoReaders, WhoeverMakesRoomIsToldWhenTheProducerWaits) {
  const std::int64_t held = fill();
  EXPECT_TRUE(ring->take(0, 0, 0).frees_producer);  // it may be enough
  EXPECT_FALSE(ring->take(0, 1, 0).frees_producer);
  EXPECT_FALSE(publish(held));
  EXPECT_TRUE(ring->take(1, 0, 0).frees_producer);
  EXPECT_FALSE(ring->take(1, 1, 0).frees_producer);  // told once
}

TEST_F(TwoReaders, ALostReaderIsWaitedForNoLonger) {
  const std::int64_t held = fill();
  for (std::int64_t serial = 0; serial < held; ++serial) EXPECT_EQ(take(serial, 0, 0), std::to_string(serial));
  EXPECT_FALSE(publish(held));
  ring->lose(1);
  EXPECT_TRUE(publish(held));
  EXPECT_EQ(take(0, 0, 1), "lost");
  EXPECT_EQ(take(held, 0, 0), std::to_string(held));
  ring->lose(0);
  for (std::int64_t serial = 0; serial < 100; ++serial) EXPECT_TRUE(publish(serial));  // nobody is left
}

TEST_F(TwoReaders, VoidPlansGiveTheirRoomBackWhenTheirReadersLook) {
  const std::int64_t held = fill();
  ring->clear(1);
  EXPECT_FALSE(publish(held));
  EXPECT_TRUE(ring->take(0, held, 1).frees_producer);
  EXPECT_FALSE(publish(held));
  EXPECT_TRUE(ring->take(1, held, 1).frees_producer);
  EXPECT_TRUE(publish(held));
}

TEST_F(RingTest, APlanLargerThanTheRingIsAnError) {
  options.shape = {60, 8, 9};
  try {
    publish(1);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::data);
    EXPECT_NE(std::string(error.what()).find("the plan ring of 3072"), std::string::npos) << error.what();
  }
}

TEST_F(RingTest, OnePlanMayTakeTheWholeRing) {
  const std::size_t needed = cells_of(7);
  options.cells = static_cast<int>(needed);
  SharedRing exact(SharedMemory("ring_test", SharedRing::memory_bytes(options)), options);
  ASSERT_GT(needed, 2u);
  for (std::int64_t round = 0; round < 3; ++round) {
    EXPECT_TRUE(exact.publish(*plan(7)));
    EXPECT_FALSE(exact.publish(*plan(7)));
    EXPECT_EQ(exact.take(0, 7, 0).verdict, Verdict::plan);
  }
}

TEST_F(RingTest, WaitingEndsWithWhatCameSinceTheLastWait) {
  const auto past = steady_clock::now() - std::chrono::seconds(1);
  const auto never = SharedRing::Deadline::max();
  EXPECT_FALSE(ring->wait(0, past));
  ASSERT_TRUE(publish(0));
  ASSERT_TRUE(publish(1));
  EXPECT_TRUE(ring->wait(0, never));  // though it slept through both
  EXPECT_FALSE(ring->wait(0, past));  // both are told of
  ring->poke(0);
  EXPECT_TRUE(ring->wait(0, never));
  ring->clear(1);
  EXPECT_TRUE(ring->wait(0, never));
  ring->lose(0);
  EXPECT_TRUE(ring->wait(0, never));
  EXPECT_FALSE(ring->wait(0, past));
}

// Any byte of a plan in the ring, its head's too: its damage is told, and what stands behind it still comes.
TEST_F(RingTest, DamageCostsOnePlan) {
  std::int64_t serial = 0;
  std::size_t cell = 0;  // of plan `serial`
  for (std::size_t round = 0; round < 1'500; ++round) {
    for (std::int64_t i = 0; i < 3; ++i) ASSERT_TRUE(publish(serial + i));
    std::string bytes;
    encode_plan(*plan(serial + 1), bytes);
    const std::size_t begin = (cell + cells_of(serial)) * options.cell_bytes;
    const std::size_t byte = round % 2 ? round / 2 % 48 : round / 2 % (48 + bytes.size());
    cells[(begin + byte) % cells.size()] ^= std::byte{1} << (round % 7);
    EXPECT_EQ(take(serial), std::to_string(serial));
    EXPECT_EQ(take(serial + 1), "damaged") << "byte " << byte;
    EXPECT_EQ(take(serial + 2), std::to_string(serial + 2)) << "byte " << byte;
    EXPECT_EQ(take(serial + 3), "none");
    EXPECT_EQ(ring->counts(0).damaged, static_cast<std::int64_t>(round + 1));
    for (std::int64_t i = 0; i < 3; ++i) cell += cells_of(serial++);
    ASSERT_FALSE(HasFailure());
  }
}

// Whatever is written into the cells: a plan that is taken is one that was published, and the ring goes on.
TEST_F(RingTest, HostileCellsNeverMakeAPlan) {
  Draw draw{5};
  std::int64_t serial = 0, plans = 0;
  for (int round = 0; round < 3'000; ++round) {
    std::int64_t end = serial;
    while (end < serial + 4 && publish(end)) ++end;
    for (std::int64_t n = draw(4); n > 0; --n) {
      const std::size_t at = static_cast<std::size_t>(draw(static_cast<std::int64_t>(cells.size())));
      const std::size_t length = std::min(cells.size() - at, static_cast<std::size_t>(1 + draw(200)));
      const std::size_t from = static_cast<std::size_t>(draw(static_cast<std::int64_t>(cells.size() - length + 1)));
      if (draw(2)) std::memmove(&cells[at], &cells[from], length);  // heads of other places and laps
      else std::memset(&cells[at], static_cast<int>(draw(256)), length);
    }
    std::string told;
    for (std::int64_t expected = serial; told != "none";) {
      told = take(expected);
      if (told == std::to_string(expected)) ++plans, ++expected;
      else if (told != "none") expected = serial + draw(end - serial);
    }
    serial = end;
    ASSERT_FALSE(HasFailure()) << "round " << round;
  }
  EXPECT_GT(plans, 1'000);
  EXPECT_GT(ring->counts(0).damaged, 100);
}

TEST_F(RingTest, DamagedCountersAreAnError) {
  SharedMemory memory("ring_test", SharedRing::memory_bytes(options));
  const std::span<std::byte> bytes = memory.bytes();
  SharedRing other(std::move(memory), options);
  const std::uint64_t absurd = std::numeric_limits<std::uint64_t>::max() / 2;
  // What is published: behind the reader's counts and the ring's geometry, a cache line each.
  std::memcpy(bytes.data() + 2 * ByteRing::kAlignment, &absurd, sizeof absurd);
  EXPECT_THROW(other.take(0, 0, 0), Error);
}

}  // namespace
}  // namespace afore::host
