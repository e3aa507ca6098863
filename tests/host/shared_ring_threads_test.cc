// The ring between threads and between processes. Deadlines only end a test that would hang.
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "host/threads/shared_ring.h"
#include "random_plans.h"

namespace afore::host {
namespace {

using pipeline::PublishedPlan;
using std::chrono::steady_clock;

#ifdef __SANITIZE_THREAD__
constexpr std::int64_t kPlans = 5'000;
#else
constexpr std::int64_t kPlans = 100'000;
#endif

SharedRing::Deadline hang() { return steady_clock::now() + std::chrono::minutes(2); }

// A few plans that are published again and again, each time with another serial.
class Plans {
 public:
  explicit Plans(const PlanShape& shape) {
    Draw draw{11};
    for (int i = 0; i < 61; ++i) plans_.push_back(*random_plan(draw, shape, 0));
  }
  const PublishedPlan& of(std::int64_t serial) {
    PublishedPlan& plan = plans_[static_cast<std::size_t>(serial) % plans_.size()];
    plan.serial = serial;
    return plan;
  }
  bool is(const PublishedPlan& taken, std::int64_t serial) const {
    const PublishedPlan& plan = plans_[static_cast<std::size_t>(serial) % plans_.size()];
    return taken.serial == serial && taken.plan.target == plan.plan.target && taken.plan.copies == plan.plan.copies &&
           taken.plan.assignment == plan.plan.assignment && taken.worker_tokens == plan.worker_tokens &&
           taken.plan.policy == plan.plan.policy;
  }

 private:
  std::vector<PublishedPlan> plans_;  // `serial` is the producer's alone
};

// Where the producer sleeps while the ring is full.
class Retry {
 public:
  void tell() {
    const std::lock_guard lock(mutex_);
    told_ = true;
    changed_.notify_one();
  }
  bool wait() {
    std::unique_lock lock(mutex_);
    const bool in_time = changed_.wait_until(lock, hang(), [&] { return told_; });
    told_ = false;
    return in_time;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool told_ = false;
};

RingOptions ring_of(int readers) {
  RingOptions options;
  options.readers = readers;
  options.cells = 64 * readers;  // a few plans each, so that it is full now and then
  options.cell_bytes = 256;
  options.shape = {12, 6, 5};
  return options;
}

// -> plans taken that were the right ones, up to `end`. `lag`: sleeps now and then.
std::int64_t read_all(SharedRing& ring, const Plans& plans, int reader, std::int64_t end, bool lag,
                      const std::function<void()>& free_producer) {
  Draw draw{static_cast<std::uint64_t>(reader)};
  std::int64_t expected = 0;
  while (expected < end) {
    const Taken taken = ring.take(reader, expected, 0);
    if (taken.frees_producer) free_producer();
    if (taken.verdict == Verdict::none) {
      if (!ring.wait(reader, hang())) return expected;
      continue;
    }
    if (taken.verdict != Verdict::plan || !plans.is(*taken.plan, expected)) return expected;
    ++expected;
    if (lag && draw(200) == 0) std::this_thread::sleep_for(std::chrono::microseconds(draw(100)));
  }
  return expected;
}

class Readers : public testing::TestWithParam<int> {};

TEST_P(Readers, EveryReaderTakesEveryPlan) {
  const int readers = GetParam();
  const RingOptions options = ring_of(readers);
  SharedRing ring(SharedMemory("ring_test", SharedRing::memory_bytes(options)), options);
  Plans plans(options.shape);
  Retry retry;
  std::vector<std::int64_t> taken(readers);
  std::vector<std::thread> threads;
  for (int r = 0; r < readers; ++r)
    threads.emplace_back([&, r] { taken[r] = read_all(ring, plans, r, kPlans, r % 3 == 2, [&] { retry.tell(); }); });
  std::int64_t full = 0;
  bool going = true;
  for (std::int64_t serial = 0; serial < kPlans && going; ++serial)
    while (going && !ring.publish(plans.of(serial))) {
      ++full;
      going = retry.wait();
    }
  if (!going)
    for (int r = 0; r < readers; ++r) ring.lose(r);
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(going) << "the producer was never told of room";
  EXPECT_GT(full, 0);
  for (int r = 0; r < readers; ++r) {
    EXPECT_EQ(taken[r], kPlans) << "reader " << r;
    EXPECT_EQ(ring.counts(r).plans, kPlans);
  }
}

INSTANTIATE_TEST_SUITE_P(SharedRing, Readers, testing::Values(1, 2, 4, 16));

TEST(SharedRingThreads, ASleepingReaderIsWoken) {
  const RingOptions options = ring_of(1);
  SharedRing ring(SharedMemory("ring_test", SharedRing::memory_bytes(options)), options);
  std::atomic<int> woken{0};
  std::thread reader([&] {
    for (int i = 0; i < 200; ++i) {
      if (!ring.wait(0, hang())) return;
      woken.store(i + 1);
    }
  });
  // Each poke is waited for, so that each wait has one of its own.
  for (int i = 0; i < 200; ++i) {
    ring.poke(0);
    while (woken.load() == i) std::this_thread::yield();
  }
  reader.join();
  EXPECT_EQ(woken.load(), 200);
}

// Epochs change at any time; each reader hears of one before, between or after its plans.
TEST(SharedRingThreads, EpochsChangeWhileReadersTake) {
  constexpr int kReaders = 4;
  constexpr std::int64_t kEpochs = 200, kOfAnEpoch = 40;
  const RingOptions options = ring_of(kReaders);
  SharedRing ring(SharedMemory("ring_test", SharedRing::memory_bytes(options)), options);
  Plans plans(options.shape);
  Retry retry;
  std::atomic<std::int64_t> epoch{0};
  std::vector<std::int64_t> last(kReaders, 0);
  std::atomic<bool> wrong{false};
  std::vector<std::thread> threads;
  for (int r = 0; r < kReaders; ++r)
    threads.emplace_back([&, r] {
      std::int64_t mine = 0, expected = 0;
      while (mine < kEpochs - 1 || expected < mine + kOfAnEpoch) {
        if (const std::int64_t now = epoch.load(); now != mine) expected = mine = now;  // serials begin at the epoch's
        const Taken taken = ring.take(r, expected, mine);
        if (taken.frees_producer) retry.tell();
        if (taken.verdict == Verdict::plan) {
          if (!plans.is(*taken.plan, expected)) wrong = true;
          ++expected;
        } else if (taken.verdict == Verdict::none || taken.verdict == Verdict::early) {
          if (epoch.load() == mine && !ring.wait(r, hang())) break;
        } else if (taken.verdict != Verdict::stale) {
          wrong = true;
        }
        if (wrong) break;
      }
      last[r] = expected;
    });
  bool going = true;
  for (std::int64_t e = 0; e < kEpochs && going; ++e) {
    if (e > 0) {
      if (e % 2) epoch = e;
      ring.clear(e);
      epoch = e;
      for (int r = 0; r < kReaders; ++r) ring.poke(r);
    }
    for (std::int64_t serial = e; serial < e + kOfAnEpoch && going; ++serial)
      while (going && !ring.publish(plans.of(serial))) going = retry.wait();
  }
  if (!going) wrong = true;
  for (int r = 0; r < kReaders; ++r) ring.poke(r);
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(wrong);
  for (int r = 0; r < kReaders; ++r) EXPECT_EQ(last[r], kEpochs - 1 + kOfAnEpoch);
}

// A process that takes plans, and writes a byte to its pipe when the producer may try again. The pipe closes with it.
struct Child {
  pid_t pid = 0;
  int pipe = -1;
};

Child spawn_reader(SharedRing& ring, const Plans& plans, int reader, std::int64_t end) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  Child child{fork(), ends[0]};
  if (child.pid == 0) {
    const bool whole = read_all(ring, plans, reader, end, false, [&] {
                         if (write(ends[1], "r", 1) != 1) _exit(2);
                       }) == end;
    _exit(whole ? 0 : 1);
  }
  close(ends[1]);
  return child;
}

// Until somebody made room or ended: those who ended are lost. False: nothing happens any more.
bool wait_for_room(SharedRing& ring, std::vector<Child>& children) {
  std::vector<pollfd> polled;
  for (const Child& child : children) polled.push_back({child.pipe, POLLIN, 0});
  if (poll(polled.data(), polled.size(), 120'000) <= 0) return false;
  for (std::size_t r = 0; r < children.size(); ++r) {
    char bytes[64];
    if (polled[r].revents == 0 || read(children[r].pipe, bytes, sizeof bytes) > 0) continue;
    ring.lose(static_cast<int>(r));
    close(std::exchange(children[r].pipe, -1));  // poll() passes over it
  }
  return true;
}

TEST(SharedRingProcesses, PlansReachOtherProcessesAndADeadOneHoldsNobodyUp) {
  constexpr int kReaders = 3;
  const std::int64_t plans_sent = kPlans / 5, dies_after = 500;
  const RingOptions options = ring_of(kReaders);
  SharedRing ring(SharedMemory("ring_test", SharedRing::memory_bytes(options)), options);
  Plans plans(options.shape);
  std::vector<Child> children;
  for (int r = 0; r < kReaders; ++r) children.push_back(spawn_reader(ring, plans, r, r == 1 ? dies_after : plans_sent));
  bool going = true;
  for (std::int64_t serial = 0; serial < plans_sent && going; ++serial)
    while (going && !ring.publish(plans.of(serial))) going = wait_for_room(ring, children);
  EXPECT_TRUE(going);
  for (int r = 0; r < kReaders; ++r) {
    if (!going) kill(children[r].pid, SIGKILL);
    int status = -1;
    ASSERT_EQ(waitpid(children[r].pid, &status, 0), children[r].pid);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "reader " << r << ": " << status;
    EXPECT_EQ(ring.counts(r).plans, r == 1 ? dies_after : plans_sent);
    if (children[r].pipe >= 0) close(children[r].pipe);
  }
}

}  // namespace
}  // namespace afore::host
