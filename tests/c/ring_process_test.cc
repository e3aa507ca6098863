// The plan ring between processes: plans arrive whole and in order, sleepers are woken, and a reader that was killed
// stops nobody.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "ring_rig.h"

namespace afore::c {
namespace {

using testing::kSecond;
using testing::RingPtr;

constexpr int kPlans = 500, kReaders = 3;

// A child process of this test: its exit code is the answer.
template <class Body>
pid_t start(Body&& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  EXPECT_GT(child, 0);
  return child;
}

int code_of(pid_t child) {
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

// Takes `count` plans and makes them itself besides. 0: all were the same.
int read_all(const testing::Shared& memory, int reader, int count) {
  const RingPtr ring = testing::attach(memory);
  testing::Plans expected;
  testing::Buffer buffer(expected.most_bytes());
  for (int i = 0; i < count; ++i) {
    afore_plan taken = testing::empty_plan();
    if (afore_ring_take(ring.get(), reader, buffer.get(), buffer.size(), 60 * kSecond, &taken) != AFORE_OK) return 1;
    if (!testing::same_plan(taken, expected.next())) return 2;
  }
  return 0;
}

int take_forever(const testing::Shared& memory) {
  const RingPtr ring = testing::attach(memory);
  testing::Buffer buffer(afore_ring_plan_bytes(ring.get()));
  afore_plan taken = testing::empty_plan();
  while (afore_ring_take(ring.get(), 0, buffer.get(), buffer.size(), 60 * kSecond, &taken) == AFORE_OK) continue;
  return 1;
}

struct RingProcess : ::testing::Test {
  testing::Plans plans;
  testing::Shared memory{afore_ring_bytes(4, kReaders, plans.most_bytes())};
  RingPtr ring = testing::make_ring(memory, 4, kReaders, plans.most_bytes());
};

// More plans than room: readers sleep for plans, and the producer for room.
TEST_F(RingProcess, EveryReaderTakesThemAll) {
  std::vector<pid_t> readers;
  for (int r = 0; r < kReaders; ++r) readers.push_back(start([&] { return read_all(memory, r, kPlans); }));
  for (int i = 0; i < kPlans; ++i)
    ASSERT_EQ(afore_ring_publish(ring.get(), &plans.next(), 60 * kSecond), AFORE_OK) << testing::text(nullptr);
  for (const pid_t reader : readers) EXPECT_EQ(code_of(reader), 0);
}

TEST_F(RingProcess, AKilledReaderStopsNobody) {
  std::vector<pid_t> readers;
  for (int r = 0; r < 2; ++r) readers.push_back(start([&] { return read_all(memory, r, kPlans); }));
  // The third takes ten plans and is killed where it waits for a word that nobody writes.
  int told[2];
  ASSERT_EQ(::pipe(told), 0);
  const pid_t victim = start([&] {
    const int code = read_all(memory, 2, 10);
    const char done = static_cast<char>(code);
    if (::write(told[1], &done, 1) != 1) return 3;
    for (;;) ::pause();
  });
  int published = 0;
  for (; published < 10; ++published) ASSERT_EQ(afore_ring_publish(ring.get(), &plans.next(), 60 * kSecond), AFORE_OK);
  char code = 9;
  ASSERT_EQ(::read(told[0], &code, 1), 1);
  EXPECT_EQ(code, 0);
  ASSERT_EQ(::kill(victim, SIGKILL), 0);
  EXPECT_EQ(code_of(victim), 1000 + SIGKILL);

  bool dropped = false;
  for (; published < kPlans; ++published) {
    const afore_plan& plan = plans.next();
    int status = afore_ring_publish(ring.get(), &plan, dropped ? 60 * kSecond : kSecond / 5);
    while (status == AFORE_E_TIMEOUT && !dropped) {
      // A live one may be slow besides.
      if (afore_ring_slowest(ring.get()) == 2) {
        ASSERT_EQ(afore_ring_drop(ring.get(), 2), AFORE_OK);
        dropped = true;
      }
      status = afore_ring_publish(ring.get(), &plan, dropped ? 60 * kSecond : kSecond / 5);
    }
    ASSERT_EQ(status, AFORE_OK) << testing::text(nullptr);
  }
  EXPECT_TRUE(dropped);
  for (const pid_t reader : readers) EXPECT_EQ(code_of(reader), 0);
  ::close(told[0]);
  ::close(told[1]);
}

// Killed in the midst of taking, wherever that is: what is left is a reader that takes nothing.
TEST_F(RingProcess, KilledAtAnyPoint) {
  for (int round = 0; round < 20; ++round) {
    ring = testing::make_ring(memory, 4, kReaders, plans.most_bytes());
    const pid_t victim = start([&] { return take_forever(memory); });
    ASSERT_EQ(afore_ring_drop(ring.get(), 1), AFORE_OK);
    ASSERT_EQ(afore_ring_drop(ring.get(), 2), AFORE_OK);
    for (int i = 0; i < round * 3; ++i)
      if (afore_ring_publish(ring.get(), &plans.next(), 60 * kSecond) != AFORE_OK) break;
    ASSERT_EQ(::kill(victim, SIGKILL), 0);
    code_of(victim);
    int status = AFORE_OK;
    for (int i = 0; i < 10 && status == AFORE_OK; ++i)
      status = afore_ring_publish(ring.get(), &plans.next(), 1'000'000);
    ASSERT_EQ(status, AFORE_E_TIMEOUT);
    ASSERT_EQ(afore_ring_drop(ring.get(), 0), AFORE_OK);
    ASSERT_EQ(afore_ring_publish(ring.get(), &plans.next(), 0), AFORE_OK);
  }
}

// A producer that ends: its readers are told by the clock.
TEST_F(RingProcess, NoPlanComesFromADeadProducer) {
  const pid_t producer = start([&] { return afore_ring_publish(ring.get(), &plans.next(), 0) == AFORE_OK ? 0 : 1; });
  EXPECT_EQ(code_of(producer), 0);
  EXPECT_EQ(read_all(memory, 0, 1), 0);
  testing::Buffer buffer(plans.most_bytes());
  afore_plan taken = testing::empty_plan();
  EXPECT_EQ(afore_ring_take(ring.get(), 0, buffer.get(), buffer.size(), 2'000'000, &taken), AFORE_E_TIMEOUT);
}

}  // namespace
}  // namespace afore::c
