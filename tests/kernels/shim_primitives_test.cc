// The emulations of primitives.h: their layouts, and that they are as asynchronous as a device.
#include "kernels/primitives.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "kernels/bf16.h"

namespace afore::kernels {
namespace {

constexpr std::uint64_t kSeeds = 12;

class ShimPrimitives : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  void SetUp() override { shim::set_schedule(GetParam()); }
  void TearDown() override { shim::set_schedule(0); }
};
INSTANTIATE_TEST_SUITE_P(Seeds, ShimPrimitives, ::testing::Range<std::uint64_t>(0, kSeeds));

template <class Run>
int num_right(Run right) {
  int count = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    shim::set_schedule(seed);
    count += right();
  }
  shim::set_schedule(0);
  return count;
}

// --- mma and ldmatrix

// c = a b of one warp: a [16][16], b [8][16] (a column of b is a row here), c [16][8]. Both come through shared memory.
__global__ void multiply_kernel(const std::uint16_t* a, const std::uint16_t* b, float* c) {
  AFORE_DYNAMIC_SHARED(std::uint16_t, shared);
  const int lane = static_cast<int>(threadIdx.x);
  for (int i = lane; i < 256; i += 32) shared[i] = a[i];
  for (int i = lane; i < 128; i += 32) shared[256 + i] = b[i];
  __syncwarp();
  std::uint32_t ra[4], rb[4];
  load_matrix_x4(ra, shared + (lane % 16) * 16 + lane / 16 * 8);
  load_matrix_x4(rb, shared + 256 + (lane % 8) * 16 + lane / 8 % 2 * 8);
  const std::uint32_t both[2] = {rb[0], rb[1]};
  float sum[4] = {1, 1, 1, 1};
  mma_m16n8k16(sum, ra, both);
  for (int i = 0; i < 4; ++i) c[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = sum[i];
}
TEST_P(ShimPrimitives, MatricesMultiply) {
  std::vector<std::uint16_t> a(256), b(128);
  std::vector<float> c(128), expected(128, 1);
  for (int i = 0; i < 256; ++i) a[static_cast<std::size_t>(i)] = bf16_of(static_cast<float>(i * 7 % 23 - 11));
  for (int i = 0; i < 128; ++i) b[static_cast<std::size_t>(i)] = bf16_of(static_cast<float>(i * 5 % 19 - 9) / 8);
  for (std::size_t m = 0; m < 16; ++m)
    for (std::size_t n = 0; n < 8; ++n)
      for (std::size_t k = 0; k < 16; ++k) expected[m * 8 + n] += float_of(a[m * 16 + k]) * float_of(b[n * 16 + k]);
  AFORE_LAUNCH(multiply_kernel, dim3(1), dim3(32), 768, nullptr, a.data(), b.data(), c.data());
  EXPECT_EQ(c, expected);
}

__global__ void part_of_warp_kernel() {
  float c[4] = {};
  const std::uint32_t a[4] = {}, b[2] = {};
  if (threadIdx.x < 31) mma_m16n8k16(c, a, b);
}
__global__ void load_kernel(int offset) {
  __shared__ __align__(16) std::uint16_t rows[24];
  std::uint32_t r[4];
  load_matrix_x4(r, rows + offset);
}
__global__ void global_kernel(std::uint16_t* rows, bool load) {
  std::uint32_t r[4];
  if (load) load_matrix_x4(r, rows);
  else copy_async_16(rows, rows, 16);
}
__global__ void copy_kernel(const std::uint16_t* global, int shared_offset, int global_offset) {
  AFORE_DYNAMIC_SHARED(std::uint16_t, shared);
  copy_async_16(shared + shared_offset, global + global_offset, 16);
}
TEST_P(ShimPrimitives, WhatADeviceRefusesThrows) {
  alignas(16) std::uint16_t rows[24] = {};
  EXPECT_THROW(AFORE_LAUNCH(part_of_warp_kernel, dim3(1), dim3(32), 0, nullptr), std::runtime_error);
  EXPECT_NO_THROW(AFORE_LAUNCH(load_kernel, dim3(1), dim3(32), 0, nullptr, 8));
  EXPECT_THROW(AFORE_LAUNCH(load_kernel, dim3(1), dim3(32), 0, nullptr, 4), std::runtime_error);
  EXPECT_THROW(AFORE_LAUNCH(global_kernel, dim3(1), dim3(32), 0, nullptr, rows, true), std::runtime_error);
  EXPECT_THROW(AFORE_LAUNCH(global_kernel, dim3(1), dim3(32), 0, nullptr, rows, false), std::runtime_error);
  EXPECT_NO_THROW(AFORE_LAUNCH(copy_kernel, dim3(1), dim3(1), 48, nullptr, rows, 8, 8));
  EXPECT_THROW(AFORE_LAUNCH(copy_kernel, dim3(1), dim3(1), 48, nullptr, rows, 4, 8), std::runtime_error);
  EXPECT_THROW(AFORE_LAUNCH(copy_kernel, dim3(1), dim3(1), 48, nullptr, rows, 8, 1), std::runtime_error);
}

// --- copies

enum class Slip { none, no_wait, waits_for_too_few, no_commit, no_barrier };

// Two stages: while one is added up, the next one is copied. out[t] sums stage[31 - t] of all stages.
template <Slip kSlip>
__global__ void stages_kernel(const std::uint32_t* x, int stages, std::uint32_t* out) {
  AFORE_DYNAMIC_SHARED(std::uint32_t, shared);  // [2][32 * 4]
  const int t = static_cast<int>(threadIdx.x);
  const auto begin = [&](int stage) {
    if (stage < stages) copy_async_16(shared + (stage % 2 * 32 + t) * 4, x + (stage * 32 + t) * 4, 16);
    if (kSlip != Slip::no_commit) copy_async_commit();
  };
  std::uint32_t sum = 0;
  begin(0);
  for (int stage = 0; stage < stages; ++stage) {
    begin(stage + 1);
    if (kSlip == Slip::waits_for_too_few) copy_async_wait<2>();
    else if (kSlip != Slip::no_wait) copy_async_wait<1>();
    if (kSlip != Slip::no_barrier) __syncthreads();
    for (int i = 0; i < 4; ++i) sum += shared[(stage % 2 * 32 + 31 - t) * 4 + i];
    __syncthreads();
  }
  out[t] = sum;
}
template <Slip kSlip>
bool stages_right() {
  constexpr int kStages = 5;
  std::vector<std::uint32_t> memory(kStages * 128 + 4), out(32), expected(32);
  std::uint32_t* x = memory.data();
  while (reinterpret_cast<std::uintptr_t>(x) % 16 != 0) ++x;
  for (std::uint32_t i = 0; i < kStages * 128; ++i) {
    x[i] = i * 2654435761u;
    expected[31 - i / 4 % 32] += x[i];
  }
  AFORE_LAUNCH(stages_kernel<kSlip>, dim3(1), dim3(32), 2 * 32 * 16, nullptr, x, kStages, out.data());
  return out == expected;
}
TEST_P(ShimPrimitives, StagedCopiesAreRight) { EXPECT_TRUE(stages_right<Slip::none>()); }
TEST(ShimFinds, MissingCopyWait) { EXPECT_EQ(num_right(&stages_right<Slip::no_wait>), 0); }
TEST(ShimFinds, CopyWaitThatLeavesTooMany) { EXPECT_EQ(num_right(&stages_right<Slip::waits_for_too_few>), 0); }
TEST(ShimFinds, CopiesThatWereNotCommitted) { EXPECT_EQ(num_right(&stages_right<Slip::no_commit>), 0); }
TEST(ShimFinds, CopyWaitWithoutABarrier) { EXPECT_LT(num_right(&stages_right<Slip::no_barrier>), int{kSeeds} / 2); }

// A stage that is copied anew while others still read it.
template <bool kBarrier>
__global__ void reuse_kernel(const std::uint32_t* x, int stages, std::uint32_t* out) {
  AFORE_DYNAMIC_SHARED(std::uint32_t, shared);  // [32 * 4]
  const unsigned t = threadIdx.x;
  std::uint32_t sum = 0;
  for (int stage = 0; stage < stages; ++stage) {
    copy_async_16(shared + t * 4, x + (static_cast<unsigned>(stage) * 32 + t) * 4, 16);
    copy_async_commit();
    copy_async_wait<0>();
    __syncthreads();
    sum += shared[(31 - t) * 4];
    if (kBarrier) __syncthreads();
  }
  out[t] = sum;
}
template <bool kBarrier>
bool reuse_right() {
  alignas(16) std::uint32_t x[4 * 128];
  std::vector<std::uint32_t> out(32), expected(32);
  for (std::uint32_t i = 0; i < 4 * 128; ++i) {
    x[i] = i * 2654435761u;
    if (i % 4 == 0) expected[31 - i / 4 % 32] += x[i];
  }
  AFORE_LAUNCH(reuse_kernel<kBarrier>, dim3(1), dim3(32), 32 * 16, nullptr, x, 4, out.data());
  return out == expected;
}
TEST_P(ShimPrimitives, ReusedStagesAreRight) { EXPECT_TRUE(reuse_right<true>()); }
TEST(ShimFinds, StageThatIsCopiedAnewTooEarly) { EXPECT_LT(num_right(&reuse_right<false>), int{kSeeds} / 2); }

// What is never waited for arrives at the block's end; the rest of the 16 bytes are zeros.
__global__ void short_copy_kernel(const std::uint32_t* x, std::uint32_t* out, std::uint32_t bytes) {
  AFORE_DYNAMIC_SHARED(std::uint32_t, shared);
  copy_async_16(shared, x, bytes);
  copy_async_commit();
  copy_async_wait<0>();
  for (int i = 0; i < 4; ++i) out[i] = shared[i];
}
TEST_P(ShimPrimitives, ShortCopiesAreFilledWithZeros) {
  alignas(16) const std::uint32_t x[4] = {1, 2, 3, 4};
  for (std::uint32_t words = 0; words <= 4; ++words) {
    std::vector<std::uint32_t> out(4, 9), expected(4);
    for (std::uint32_t i = 0; i < words; ++i) expected[i] = x[i];
    AFORE_LAUNCH(short_copy_kernel, dim3(1), dim3(1), 16, nullptr, x, out.data(), words * 4);
    EXPECT_EQ(out, expected);
  }
}

}  // namespace
}  // namespace afore::kernels
