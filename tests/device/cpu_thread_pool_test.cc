#include "device/cpu/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace afore::device::cpu {
namespace {

TEST(CpuThreadPool, EveryPartOnceOnAThreadOfThePool) {
  for (const int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const std::int64_t parts : {0, 1, 2, 3, 100}) {
      std::vector<std::atomic<int>> done(static_cast<std::size_t>(parts));
      std::atomic<int> strangers = 0;
      pool.run(parts, [&](std::int64_t part, int thread) {
        ++done[part];
        if (thread < 0 || thread >= threads) ++strangers;
      });
      for (const auto& times : done) EXPECT_EQ(times, 1);
      EXPECT_EQ(strangers, 0);
    }
  }
}

// What parts wrote, without a lock of their own, is there when run() returns, call after call.
TEST(CpuThreadPool, ManyCalls) {
  ThreadPool pool(3);
  std::vector<int> values(64);
  for (int call = 1; call <= 2000; ++call) {
    pool.run(8, [&](std::int64_t part, int) {
      for (int i = 0; i < 8; ++i) ++values[part * 8 + i];
    });
    for (const int value : values) ASSERT_EQ(value, call);
  }
}

TEST(CpuThreadPool, AnExceptionComesBackAndThePoolGoesOn) {
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    for (int round = 0; round < 20; ++round) {
      EXPECT_THROW(pool.run(10,
                            [&](std::int64_t part, int) {
                              if (part == 4) throw std::runtime_error("part 4");
                            }),
                   std::runtime_error);
      std::atomic<int> done = 0;
      pool.run(10, [&](std::int64_t, int) { ++done; });
      EXPECT_EQ(done, 10);
    }
  }
}

TEST(CpuThreadPool, UnusedItEnds) {
  for (int i = 0; i < 20; ++i) ThreadPool pool(4);
}

}  // namespace
}  // namespace afore::device::cpu
