// That the stand-in for CUDA runs what is right, and finds what is wrong in how the threads of a block meet.
#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/gpu.h"

namespace afore::shim {
namespace {

constexpr std::uint64_t kSeeds = 12;  // 0, the order, is one of them
constexpr unsigned kAll = 0xffffffffu;

class Scheduled : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  void SetUp() override { set_schedule(GetParam()); }
  void TearDown() override { set_schedule(0); }
};
class ShimBlock : public Scheduled {};
INSTANTIATE_TEST_SUITE_P(Seeds, ShimBlock, ::testing::Range<std::uint64_t>(0, kSeeds));

// What the launch says, or "" when it says nothing.
template <class Run>
std::string error_of(Run run) {
  try {
    run();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

// How many of the schedules give what `right` returns true for.
template <class Run>
int num_right(Run right) {
  int count = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    set_schedule(seed);
    count += right();
  }
  set_schedule(0);
  return count;
}

// --- right kernels

// out[block] = the sum of the block's 256 values of x.
template <bool kBarrier>
__global__ void sum_kernel(const int* x, int* out) {
  __shared__ int part[256];
  const unsigned t = threadIdx.x;
  part[t] = x[blockIdx.x * 256 + t];
  for (unsigned half = 128; half > 0; half /= 2) {
    if (kBarrier) __syncthreads();
    if (t < half) part[t] += part[t + half];
  }
  if (t == 0) out[blockIdx.x] = part[0];
}

template <bool kBarrier>
bool sums_right() {
  std::vector<int> x(3 * 256), out(3), expected(3);
  for (int i = 0; i < 3 * 256; ++i) expected[i / 256] += x[i] = i * i % 1000;
  AFORE_LAUNCH(sum_kernel<kBarrier>, dim3(3), dim3(256), 0, nullptr, x.data(), out.data());
  return out == expected;
}
TEST_P(ShimBlock, SumIsRight) { EXPECT_TRUE(sums_right<true>()); }

__global__ void index_kernel(int* out) {
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  atomicAdd(&out[block * blockDim.x * blockDim.y * blockDim.z + thread], 1);
}
TEST_P(ShimBlock, EachThreadOfEachBlockRunsOnce) {
  std::vector<int> out(2 * 3 * 4 * 5 * 6 * 7);
  AFORE_LAUNCH(index_kernel, dim3(2, 3, 4), dim3(5, 6, 7), 0, nullptr, out.data());
  EXPECT_EQ(out, std::vector<int>(out.size(), 1));
}

struct Exchanges {
  int from_3, down, up, swapped, within_8, ballot, all, any, total, most;
  unsigned alike;
  double half;
};
__global__ void exchange_kernel(Exchanges* out) {
  const int lane = static_cast<int>(threadIdx.x);
  Exchanges& mine = out[lane];
  mine.from_3 = __shfl_sync(kAll, lane * 10, 3);
  mine.down = __shfl_down_sync(kAll, lane, 4);
  mine.up = __shfl_up_sync(kAll, lane, 4);
  mine.swapped = __shfl_xor_sync(kAll, lane, 5);
  mine.within_8 = __shfl_sync(kAll, lane, 9, 8);
  mine.ballot = static_cast<int>(__ballot_sync(kAll, lane % 3 == 0));
  mine.all = __all_sync(kAll, lane < 32) + 2 * __all_sync(kAll, lane < 31);
  mine.any = __any_sync(kAll, lane == 31) + 2 * __any_sync(kAll, lane == 32);
  mine.total = __reduce_add_sync(kAll, lane);
  mine.most = __reduce_max_sync(kAll, -lane);
  mine.alike = __match_any_sync(kAll, lane / 8);
  mine.half = __shfl_sync(kAll, lane + 0.5, lane);
}
TEST_P(ShimBlock, LanesExchange) {
  std::vector<Exchanges> out(32);
  AFORE_LAUNCH(exchange_kernel, dim3(1), dim3(32), 0, nullptr, out.data());
  for (int lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(out[lane].from_3, 30);
    EXPECT_EQ(out[lane].down, lane + 4 < 32 ? lane + 4 : lane);
    EXPECT_EQ(out[lane].up, lane < 4 ? lane : lane - 4);
    EXPECT_EQ(out[lane].swapped, lane ^ 5);
    EXPECT_EQ(out[lane].within_8, lane / 8 * 8 + 1);
    EXPECT_EQ(static_cast<unsigned>(out[lane].ballot), 0x49249249u);
    EXPECT_EQ(out[lane].all, 1);
    EXPECT_EQ(out[lane].any, 1);
    EXPECT_EQ(out[lane].total, 496);
    EXPECT_EQ(out[lane].most, 0);
    EXPECT_EQ(out[lane].alike, 0xffu << lane / 8 * 8);
    EXPECT_EQ(out[lane].half, lane + 0.5);
  }
}

// Halves of a warp meet on their own, then all; lanes that have ended are not waited for.
__global__ void masks_kernel(int* out) {
  const int lane = static_cast<int>(threadIdx.x);
  if (lane >= 24) return;
  const unsigned mine = lane < 12 ? 0x000fffu : 0xfff000u;
  for (int i = 0; i < lane / 12 * 3 + 1; ++i) out[lane] += __reduce_add_sync(mine, 1);
  out[lane] += 100 * __reduce_add_sync(kAll, 1);
}
TEST_P(ShimBlock, LanesMeetByTheirMask) {
  std::vector<int> out(24);
  AFORE_LAUNCH(masks_kernel, dim3(1), dim3(32), 0, nullptr, out.data());
  for (int lane = 0; lane < 24; ++lane) EXPECT_EQ(out[lane], 2400 + (lane < 12 ? 12 : 48)) << lane;
}

// A lane outside the mask gives garbage, not what it has.
__global__ void outside_kernel(unsigned* out) {
  if (threadIdx.x < 16) out[threadIdx.x] = __shfl_down_sync(0xffffu, threadIdx.x, 8);
}
TEST_P(ShimBlock, LanesOutsideTheMaskGiveGarbage) {
  std::vector<unsigned> out(16);
  AFORE_LAUNCH(outside_kernel, dim3(1), dim3(32), 0, nullptr, out.data());
  for (unsigned lane = 0; lane < 16; ++lane) EXPECT_EQ(out[lane], lane < 8 ? lane + 8 : 0xa5a5a5a5u);
}

// --- wrong kernels

TEST(ShimFinds, MissingBarrierReadAfterWrite) { EXPECT_LT(num_right(&sums_right<false>), int{kSeeds} / 2); }

// Each round a thread publishes and reads its neighbour; without the second barrier a neighbour may already have
// published the next round's.
template <bool kSecondBarrier>
__global__ void rounds_kernel(int* out) {
  __shared__ int value[64];
  const unsigned t = threadIdx.x;
  int sum = 0;
  for (int round = 0; round < 4; ++round) {
    value[t] = round * 100 + static_cast<int>(t);
    __syncthreads();
    sum += value[(t + 37) % 64];
    if (kSecondBarrier) __syncthreads();
  }
  out[t] = sum;
}
template <bool kSecondBarrier>
bool rounds_right() {
  std::vector<int> out(64), expected(64);
  for (int t = 0; t < 64; ++t) expected[t] = 600 + 4 * ((t + 37) % 64);
  AFORE_LAUNCH(rounds_kernel<kSecondBarrier>, dim3(1), dim3(64), 0, nullptr, out.data());
  return out == expected;
}
TEST_P(ShimBlock, RoundsAreRight) { EXPECT_TRUE(rounds_right<true>()); }
TEST(ShimFinds, MissingBarrierWriteAfterRead) { EXPECT_LT(num_right(&rounds_right<false>), int{kSeeds} / 2); }

// Barriers of a warp do not join warps.
template <bool kBlock>
__global__ void across_warps_kernel(int* out) {
  __shared__ int value[64];
  value[threadIdx.x] = static_cast<int>(threadIdx.x) + 1;
  if (kBlock) __syncthreads();
  else __syncwarp();
  out[threadIdx.x] = value[63 - threadIdx.x];
  __syncthreads();
  value[threadIdx.x] = 0;
}
template <bool kBlock>
bool across_right() {
  std::vector<int> out(64), expected(64);
  for (int t = 0; t < 64; ++t) expected[t] = 64 - t;
  AFORE_LAUNCH(across_warps_kernel<kBlock>, dim3(1), dim3(64), 0, nullptr, out.data());
  return out == expected;
}
TEST_P(ShimBlock, AcrossWarpsIsRight) { EXPECT_TRUE(across_right<true>()); }
TEST(ShimFinds, WarpBarrierWhereTheBlockIsMeant) { EXPECT_LT(num_right(&across_right<false>), int{kSeeds} / 2); }

__global__ void some_return_kernel() {
  if (threadIdx.x < 10) return;
  __syncthreads();
}
__global__ void two_places_kernel() {
  if (threadIdx.x < 10) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}
__global__ void foreign_mask_kernel() { __syncwarp(0x0000ffffu); }
__global__ void two_masks_kernel() { __syncwarp(threadIdx.x % 32 < 16 ? 0xffffffffu : 0xffff0001u); }
__global__ void two_calls_kernel() {
  if (threadIdx.x % 32 < 16) {
    __syncwarp();
  } else {
    __ballot_sync(kAll, 1);
  }
}
__global__ void lane_at_barrier_kernel() {
  if (threadIdx.x % 32 != 7) __ballot_sync(kAll, 1);
  __syncthreads();
}
TEST_P(ShimBlock, BarriersThatCannotBeAreNamed) {
  const auto says = [](void (*kernel)(), const std::string& text) {
    const std::string error = error_of([&] { AFORE_LAUNCH(kernel, dim3(2), dim3(64), 0, nullptr); });
    EXPECT_NE(error.find(text), std::string::npos) << text << " is not in: " << error;
    EXPECT_NE(error.find("shim_block_test.cc:"), std::string::npos) << error;
    EXPECT_TRUE(sums_right<true>());  // nothing of it remains
  };
  says(some_return_kernel, "__syncthreads is reached by only a part of the block: 54 of 64 threads");
  says(two_places_kernel, "divergent barrier: a block waits in two places");
  says(foreign_mask_kernel, "wrong mask: a lane is not in the mask it gives");
  says(two_masks_kernel, "wrong mask: lanes that name each other wait with different masks");
  says(two_calls_kernel, "deadlock: lanes of one mask wait in different calls");
  says(lane_at_barrier_kernel, "deadlock: lanes wait for lanes of their mask that are at a barrier of the block");
}

// --- errors of a kernel's own

struct Counted {
  explicit Counted(int* count_) : count(count_) { ++*count; }
  ~Counted() { --*count; }
  int* count;
};
__global__ void throwing_kernel(int* alive) {
  const Counted counted(alive);
  __syncthreads();
  if (threadIdx.x == 40) throw std::runtime_error("the kernel's own");
  __syncthreads();
}
TEST_P(ShimBlock, AKernelsExceptionComesOutAndThreadsAreUnwound) {
  int alive = 0;
  EXPECT_EQ(error_of([&] { AFORE_LAUNCH(throwing_kernel, dim3(1), dim3(64), 0, nullptr, &alive); }),
            "the kernel's own");
  EXPECT_EQ(alive, 0);
}

// --- shared memory

__global__ void dynamic_kernel(unsigned char* out, unsigned index) {
  AFORE_DYNAMIC_SHARED(unsigned char, bytes);
  *out = bytes[index];
  bytes[index] = 1;
}
TEST_P(ShimBlock, DynamicSharedMemoryBeginsAsGarbageInEachBlock) {
  unsigned char out = 0;
  AFORE_LAUNCH(dynamic_kernel, dim3(3), dim3(1), 100, nullptr, &out, 99u);
  EXPECT_EQ(out, 0xa5);
}

__global__ void leftover_kernel(unsigned* out) {
  __shared__ unsigned values[5];
  *out = values[4];
  values[4] = 1;
}
TEST_P(ShimBlock, StaticSharedMemoryBeginsAsGarbageInEachBlock) {
  unsigned out = 0;
  AFORE_LAUNCH(leftover_kernel, dim3(3), dim3(1), 0, nullptr, &out);
  EXPECT_EQ(out, 0xa5a5a5a5u);
}

#if defined(__SANITIZE_ADDRESS__)
__global__ void static_kernel(int* out, unsigned index) {
  __shared__ int values[33];
  int* first = values;
  asm("" : "+r"(first));  // whose bounds the compiler does not know
  first[index] = 7;
  *out = first[index];
}
TEST(ShimFindsDeathTest, SharedOverruns) {
  unsigned char byte = 0;
  int value = 0;
  AFORE_LAUNCH(static_kernel, dim3(1), dim3(1), 0, nullptr, &value, 32u);
  EXPECT_EQ(value, 7);
  EXPECT_DEATH(AFORE_LAUNCH(static_kernel, dim3(1), dim3(1), 0, nullptr, &value, 33u), "global-buffer-overflow");
  EXPECT_DEATH(AFORE_LAUNCH(dynamic_kernel, dim3(1), dim3(1), 100, nullptr, &byte, 100u), "heap-buffer-overflow");
}
#else
TEST(ShimFindsDeathTest, SharedOverruns) { GTEST_SKIP() << "needs the address sanitizer"; }
#endif

}  // namespace
}  // namespace afore::shim
