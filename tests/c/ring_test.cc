// The plan ring within one thread: order, room, sizes, damage.
#include <limits>

#include "ring_rig.h"

namespace afore::c {
namespace {

using testing::empty_plan;
using testing::RingPtr;
using testing::text;

struct RingTest : ::testing::Test {
  static constexpr int kCapacity = 3, kReaders = 2;

  int take(int reader, std::int64_t timeout_ns = 0) {
    taken = empty_plan();
    return afore_ring_take(ring.get(), reader, buffer.get(), buffer.size(), timeout_ns, &taken);
  }

  testing::Plans plans;
  testing::Shared memory{afore_ring_bytes(kCapacity, kReaders, plans.most_bytes())};
  RingPtr ring = testing::make_ring(memory, kCapacity, kReaders, plans.most_bytes());
  testing::Buffer buffer{plans.most_bytes()};
  afore_plan taken = empty_plan();
};

TEST_F(RingTest, EveryReaderTakesEveryPlan) {
  const RingPtr other = testing::attach(memory);
  testing::Buffer buffer2(plans.most_bytes());
  std::int64_t copies = 0;
  for (int i = 0; i < 200; ++i) {
    const afore_plan& plan = plans.next();
    copies += plan.copy_count;
    ASSERT_EQ(afore_ring_publish(ring.get(), &plan, 0), AFORE_OK) << text(nullptr);
    ASSERT_EQ(take(0), AFORE_OK) << text(nullptr);
    EXPECT_TRUE(testing::same_plan(taken, plan)) << i;
    afore_plan taken2 = empty_plan();
    ASSERT_EQ(afore_ring_take(other.get(), 1, buffer2.get(), buffer2.size(), 0, &taken2), AFORE_OK);
    EXPECT_TRUE(testing::same_plan(taken2, plan)) << i;
  }
  EXPECT_GT(copies, 0);
  EXPECT_EQ(take(0), AFORE_E_TIMEOUT);
  EXPECT_EQ(text(nullptr), "no plan came in time");
}

// Capacity is what it says; who holds the ring up is named, and can be gone on without.
TEST_F(RingTest, AFullRingNamesWhoHoldsItUp) {
  for (int i = 0; i < kCapacity; ++i) ASSERT_EQ(afore_ring_publish(ring.get(), &plans.next(), 0), AFORE_OK);
  ASSERT_EQ(take(0), AFORE_OK);
  const afore_plan& more = plans.next();
  EXPECT_EQ(afore_ring_publish(ring.get(), &more, 0), AFORE_E_TIMEOUT);
  EXPECT_EQ(afore_ring_publish(ring.get(), &more, 1'000'000), AFORE_E_TIMEOUT);
  EXPECT_EQ(afore_ring_slowest(ring.get()), 1);
  ASSERT_EQ(afore_ring_drop(ring.get(), 1), AFORE_OK);
  ASSERT_EQ(afore_ring_publish(ring.get(), &more, 0), AFORE_OK) << text(nullptr);
  EXPECT_EQ(take(1), AFORE_E_LOST);
  for (int i = 1; i <= kCapacity; ++i) {
    ASSERT_EQ(take(0), AFORE_OK);
    EXPECT_EQ(taken.seq, i);
  }
  EXPECT_EQ(afore_ring_slowest(ring.get()), 0);
  ASSERT_EQ(afore_ring_drop(ring.get(), 0), AFORE_OK);
  EXPECT_EQ(afore_ring_slowest(ring.get()), AFORE_E_STATE);
}

TEST_F(RingTest, APlanStaysWhereTheBufferIsTooSmall) {
  const afore_plan& plan = plans.next();
  ASSERT_EQ(afore_ring_publish(ring.get(), &plan, 0), AFORE_OK);
  EXPECT_EQ(afore_ring_take(ring.get(), 0, buffer.get(), 64, 0, &taken), AFORE_E_CAPACITY);
  EXPECT_EQ(afore_ring_take(ring.get(), 0, buffer.get(), 0, 0, &taken), AFORE_E_CAPACITY);
  ASSERT_EQ(take(0), AFORE_OK);
  EXPECT_TRUE(testing::same_plan(taken, plan));
  EXPECT_GE(afore_ring_plan_bytes(ring.get()), plans.most_bytes());
}

TEST_F(RingTest, APlanLargerThanTheRingIsRefused) {
  const std::int64_t small = sizeof(afore_plan);
  testing::Shared tight(afore_ring_bytes(2, 1, small));
  const RingPtr other = testing::make_ring(tight, 2, 1, small);
  EXPECT_EQ(afore_ring_publish(other.get(), &plans.next(), 0), AFORE_E_CAPACITY);
}

TEST_F(RingTest, OlderStructsOnEitherSide) {
  constexpr std::uint32_t kOlder = offsetof(afore_plan, completion_ns);
  afore_plan plan = plans.next();
  ASSERT_NE(plan.completion_ns, 0x5a5a);
  plan.struct_size = kOlder;
  plan.completion_ns = 0x5a5a;  // of whatever lies there
  ASSERT_EQ(afore_ring_publish(ring.get(), &plan, 0), AFORE_OK) << text(nullptr);
  ASSERT_EQ(take(0), AFORE_OK);
  EXPECT_EQ(taken.completion_ns, -1);
  EXPECT_EQ(taken.exposed_ns, plan.exposed_ns);
  taken = empty_plan();
  taken.struct_size = kOlder;
  taken.completion_ns = 77;
  ASSERT_EQ(afore_ring_take(ring.get(), 1, buffer.get(), buffer.size(), 0, &taken), AFORE_OK);
  EXPECT_EQ(taken.completion_ns, 77);
  EXPECT_EQ(taken.share_count, plan.share_count);
}

TEST_F(RingTest, PlansThatCannotBe) {
  const afore_plan good = plans.next();
  const auto refused = [&](auto change) {
    afore_plan plan = good;
    change(plan);
    return afore_ring_publish(ring.get(), &plan, 0);
  };
  EXPECT_EQ(refused([](afore_plan& p) { p.struct_size = 0; }), AFORE_E_ARGUMENT);
  EXPECT_EQ(refused([](afore_plan& p) { p.copy_count = -1; }), AFORE_E_DATA);
  EXPECT_EQ(refused([](afore_plan& p) { p.share_count = std::numeric_limits<std::int64_t>::max(); }), AFORE_E_DATA);
  EXPECT_EQ(refused([](afore_plan& p) { p.shares = nullptr; }), AFORE_E_DATA);
  EXPECT_EQ(refused([](afore_plan& p) { p.tile_load = nullptr; }), AFORE_E_DATA);
  EXPECT_EQ(refused([](afore_plan& p) { p.experts = 1; }), AFORE_E_DATA);
  EXPECT_EQ(refused([](afore_plan& p) { p.workers = 0; }), AFORE_E_DATA);
  EXPECT_EQ(take(0), AFORE_E_TIMEOUT);  // nothing was published
}

TEST_F(RingTest, ArgumentsThatCannotBe) {
  afore_ring* made = nullptr;
  const std::int64_t most = plans.most_bytes();
  auto* at = static_cast<char*>(memory.get());
  EXPECT_EQ(afore_ring_bytes(0, 1, most), AFORE_E_ARGUMENT);
  EXPECT_EQ(afore_ring_bytes(1, 0, most), AFORE_E_ARGUMENT);
  EXPECT_EQ(afore_ring_bytes(1, 1, 8), AFORE_E_ARGUMENT);
  EXPECT_EQ(afore_ring_bytes(1, 1, std::numeric_limits<std::int64_t>::max()), AFORE_E_ARGUMENT);
  EXPECT_EQ(afore_ring_init(nullptr, 1 << 20, 2, 1, most, &made), AFORE_E_ARGUMENT);
  EXPECT_EQ(afore_ring_init(at + 8, memory.size() - 8, 2, 1, most, &made), AFORE_E_ARGUMENT);
  EXPECT_EQ(afore_ring_init(at, 100, kCapacity, kReaders, most, &made), AFORE_E_CAPACITY);
  EXPECT_EQ(afore_ring_init(at, memory.size() - 1, kCapacity, kReaders, most, &made), AFORE_E_CAPACITY);
  EXPECT_EQ(afore_ring_init(at, -1, kCapacity, kReaders, most, &made), AFORE_E_ARGUMENT);
  EXPECT_EQ(afore_ring_init(at, memory.size(), kCapacity, kReaders, most, nullptr), AFORE_E_ARGUMENT);
  EXPECT_EQ(afore_ring_attach(nullptr, 100, &made), AFORE_E_ARGUMENT);
  EXPECT_EQ(afore_ring_attach(at, memory.size(), nullptr), AFORE_E_ARGUMENT);
  EXPECT_EQ(made, nullptr);
  EXPECT_EQ(afore_ring_take(ring.get(), 2, buffer.get(), buffer.size(), 0, &taken), AFORE_E_ARGUMENT);
  EXPECT_EQ(afore_ring_take(ring.get(), -1, buffer.get(), buffer.size(), 0, &taken), AFORE_E_ARGUMENT);
  EXPECT_EQ(afore_ring_take(ring.get(), 0, nullptr, 100, 0, &taken), AFORE_E_ARGUMENT);
  EXPECT_EQ(afore_ring_take(ring.get(), 0, static_cast<char*>(buffer.get()) + 4, 100, 0, &taken), AFORE_E_ARGUMENT);
  EXPECT_EQ(afore_ring_take(ring.get(), 0, buffer.get(), buffer.size(), -1, &taken), AFORE_E_ARGUMENT);
  EXPECT_EQ(afore_ring_take(ring.get(), 0, buffer.get(), buffer.size(), 0, nullptr), AFORE_E_ARGUMENT);
  EXPECT_EQ(afore_ring_publish(ring.get(), nullptr, 0), AFORE_E_ARGUMENT);
  EXPECT_EQ(afore_ring_publish(ring.get(), &plans.next(), -1), AFORE_E_ARGUMENT);
  EXPECT_EQ(afore_ring_drop(ring.get(), 7), AFORE_E_ARGUMENT);
  EXPECT_EQ(afore_ring_publish(nullptr, nullptr, 0), AFORE_E_ARGUMENT);
  EXPECT_EQ(afore_ring_take(nullptr, 0, nullptr, 0, 0, nullptr), AFORE_E_ARGUMENT);
  EXPECT_EQ(afore_ring_slowest(nullptr), AFORE_E_ARGUMENT);
  EXPECT_EQ(afore_ring_drop(nullptr, 0), AFORE_E_ARGUMENT);
  EXPECT_EQ(afore_ring_plan_bytes(nullptr), AFORE_E_ARGUMENT);
  afore_ring_detach(nullptr);
}

TEST_F(RingTest, MemoryWithoutARing) {
  afore_ring* made = nullptr;
  testing::Shared zeros(4096);
  EXPECT_EQ(afore_ring_attach(zeros.get(), 4096, &made), AFORE_E_DAMAGED);
  EXPECT_EQ(afore_ring_attach(zeros.get(), 0, &made), AFORE_E_DAMAGED);
  EXPECT_EQ(afore_ring_attach(memory.get(), memory.size() - 1, &made), AFORE_E_DAMAGED);
  EXPECT_EQ(made, nullptr);
  // Any other geometry that fits the memory may be read as another ring, and is as safe as one.
  Rng rng(3);
  int refused = 0;
  for (int round = 0; round < 2'000; ++round) {
    testing::Shared copy(memory.size());
    std::memcpy(copy.get(), memory.get(), static_cast<std::size_t>(memory.size()));
    for (int k = 0; k < 3; ++k) copy.bytes()[rng.below(32)] = static_cast<unsigned char>(rng.below(256));
    if (afore_ring_attach(copy.get(), copy.size(), &made) != AFORE_OK) {
      ++refused;
      continue;
    }
    const RingPtr other(made);
    afore_ring_publish(made, &plans.next(), 0);
    afore_ring_take(made, 0, buffer.get(), buffer.size(), 0, &taken);
  }
  EXPECT_GT(refused, 1'000);
}

// Whatever is written into the memory: a code, and a plan that is taken is one that was published.
TEST_F(RingTest, BytesThatOthersWrite) {
  Rng rng(4);
  std::vector<std::vector<std::uint64_t>> kept;
  int whole = 0, damaged = 0;
  for (int round = 0; round < 3'000; ++round) {
    if (round % 50 == 0) ring = testing::make_ring(memory, kCapacity, kReaders, plans.most_bytes());
    const afore_plan& plan = plans.next();
    const int published = afore_ring_publish(ring.get(), &plan, 0);
    ASSERT_TRUE(published == AFORE_OK || published == AFORE_E_TIMEOUT) << published;
    const auto bytes = memory.bytes();
    const bool header = round % 10 == 0;  // counters and lines, or the cells
    for (std::uint64_t k = rng.below(3); k > 0; --k)
      bytes[header ? 64 + rng.below(448) : rng.below(bytes.size() - 64) + 64] ^=
          static_cast<unsigned char>(1u << rng.below(8));
    for (int reader = 0; reader < kReaders; ++reader) {
      const int status = take(reader);
      if (status == AFORE_OK) {
        ++whole;
        if (taken.seq == plan.seq) {
          EXPECT_TRUE(testing::same_plan(taken, plan));
        }
      } else {
        ASSERT_TRUE(status == AFORE_E_DAMAGED || status == AFORE_E_TIMEOUT || status == AFORE_E_LOST) << status;
        damaged += status == AFORE_E_DAMAGED ? 1 : 0;
      }
    }
    afore_ring_slowest(ring.get());
  }
  EXPECT_GT(whole, 1'000);
  EXPECT_GT(damaged, 100);
}

}  // namespace
}  // namespace afore::c
