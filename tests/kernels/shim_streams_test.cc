// Streams and events of the stand-in for CUDA: they give what is right, and show what is not waited for.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "kernels/gpu.h"

namespace afore::shim {
namespace {

constexpr std::uint64_t kSeeds = 16;
constexpr int kCount = 300;
constexpr std::size_t kBytes = kCount * sizeof(int);

class ShimStreams : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  void SetUp() override {
    set_devices(1);
    set_schedule(GetParam());
  }
  void TearDown() override {
    set_devices(1);
    set_schedule(0);
  }
};
INSTANTIATE_TEST_SUITE_P(Seeds, ShimStreams, ::testing::Range<std::uint64_t>(0, kSeeds));

template <class Run>
int num_right(Run right) {
  int count = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    set_devices(1);
    set_schedule(seed);
    count += right();
  }
  set_devices(1);
  set_schedule(0);
  return count;
}

void ok(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorName(error));
}
cudaStream_t new_stream() {
  cudaStream_t stream = nullptr;
  ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}
cudaEvent_t new_event() {
  cudaEvent_t event = nullptr;
  ok(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  return event;
}
int* on_device() {
  int* memory = nullptr;
  ok(cudaMalloc(&memory, kBytes));
  return memory;
}
int* pinned(int value) {
  int* memory = nullptr;
  ok(cudaMallocHost(&memory, kBytes));
  for (int i = 0; i < kCount; ++i) memory[i] = value;
  return memory;
}

__global__ void add_kernel(int* x, int count, int value) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) x[i] += value;
}
void add(int* x, int value, cudaStream_t stream) {
  AFORE_LAUNCH(add_kernel, dim3(5), dim3(64), 0, stream, x, kCount, value);
}
bool all_are(const int* x, int value) {
  for (int i = 0; i < kCount; ++i)
    if (x[i] != value) return false;
  return true;
}

// --- two streams: one copies in and adds 1, the other adds 10 and copies out

enum class Slip { none, no_event_wait, no_synchronize, input_reused, input_late };

template <Slip kSlip>
bool pipeline_right() {
  const cudaStream_t first = new_stream(), second = new_stream();
  const cudaEvent_t added = new_event();
  int *const x = on_device(), *const in = pinned(kSlip == Slip::input_late ? 0 : 5), *const out = pinned(0);
  ok(cudaMemcpyAsync(x, in, kBytes, cudaMemcpyHostToDevice, first));
  if (kSlip == Slip::input_reused) in[7] = 0;
  if (kSlip == Slip::input_late) std::fill(in, in + kCount, 5);
  add(x, 1, first);
  ok(cudaEventRecord(added, first));
  if (kSlip != Slip::no_event_wait) ok(cudaStreamWaitEvent(second, added));
  add(x, 10, second);
  ok(cudaMemcpyAsync(out, x, kBytes, cudaMemcpyDeviceToHost, second));
  if (kSlip != Slip::no_synchronize) ok(cudaStreamSynchronize(second));
  return all_are(out, 16);
}
TEST_P(ShimStreams, TwoStreamsJoinedByAnEvent) { EXPECT_TRUE(pipeline_right<Slip::none>()); }
TEST(ShimFinds, MissingEventWait) { EXPECT_LE(num_right(&pipeline_right<Slip::no_event_wait>), int{kSeeds} * 3 / 4); }
TEST(ShimFinds, ResultReadWithoutSynchronizing) {
  EXPECT_LE(num_right(&pipeline_right<Slip::no_synchronize>), int{kSeeds} / 4);
}
TEST(ShimFinds, PinnedMemoryReusedTooEarly) {
  EXPECT_LE(num_right(&pipeline_right<Slip::input_reused>), int{kSeeds} / 4);
}
TEST(ShimFinds, PinnedMemoryFilledTooLate) { EXPECT_LT(num_right(&pipeline_right<Slip::input_late>), int{kSeeds}); }

TEST_P(ShimStreams, PageableMemoryIsReadAtTheCallAndWrittenBeforeItEnds) {
  const cudaStream_t stream = new_stream();
  int* const x = on_device();
  std::vector<int> host(kCount, 3);
  ok(cudaMemcpyAsync(x, host.data(), kBytes, cudaMemcpyHostToDevice, stream));
  std::fill(host.begin(), host.end(), 0);
  add(x, 4, stream);
  ok(cudaMemcpyAsync(host.data(), x, kBytes, cudaMemcpyDeviceToHost, stream));
  EXPECT_TRUE(all_are(host.data(), 7));
}

TEST_P(ShimStreams, QueriesGetThereInTheEnd) {
  const cudaStream_t stream = new_stream();
  const cudaEvent_t event = new_event();
  int* const x = on_device();
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess);  // never recorded
  ok(cudaMemsetAsync(x, 0, kBytes, stream));
  for (int i = 0; i < 20; ++i) add(x, 1, stream);
  ok(cudaEventRecord(event, stream));
  const bool late = GetParam() == 0 || GetParam() % 4 != 0;
  EXPECT_EQ(cudaStreamQuery(stream), late ? cudaErrorNotReady : cudaSuccess);
  int tries = 0;
  while (cudaEventQuery(event) == cudaErrorNotReady) ++tries;
  EXPECT_LT(tries, 400);
  EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess);
  std::vector<int> host(kCount);
  ok(cudaMemcpy(host.data(), x, kBytes, cudaMemcpyDeviceToHost));
  EXPECT_TRUE(all_are(host.data(), 20));
}

// A wait is for the recording before it, not for a later one.
TEST_P(ShimStreams, AnEventThatIsRecordedAnewHoldsNobodyElse) {
  const cudaStream_t first = new_stream(), second = new_stream();
  const cudaEvent_t event = new_event(), back = new_event();
  int* const x = on_device();
  ok(cudaMemset(x, 0, kBytes));
  add(x, 1, first);
  ok(cudaEventRecord(event, first));
  ok(cudaStreamWaitEvent(second, event));
  add(x, 2, second);
  ok(cudaEventRecord(back, second));
  ok(cudaStreamWaitEvent(first, back));  // would wait for itself, were the second recording meant
  ok(cudaEventRecord(event, first));
  ok(cudaEventSynchronize(event));
  EXPECT_EQ(cudaStreamQuery(second), cudaSuccess);
}

TEST_P(ShimStreams, ADestroyedStreamStillDoesItsWork) {
  const cudaStream_t stream = new_stream();
  int *const x = on_device(), *const out = pinned(0);
  ok(cudaMemsetAsync(x, 0, kBytes, stream));
  add(x, 9, stream);
  ok(cudaMemcpyAsync(out, x, kBytes, cudaMemcpyDeviceToHost, stream));
  ok(cudaStreamDestroy(stream));
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
  ok(cudaDeviceSynchronize());
  EXPECT_TRUE(all_are(out, 9));
}

TEST_P(ShimStreams, TimedEventsMeasure) {
  const cudaStream_t stream = new_stream();
  cudaEvent_t begin = nullptr, end = nullptr;
  ok(cudaEventCreate(&begin));
  ok(cudaEventCreate(&end));
  float ms = -1;
  EXPECT_EQ(cudaEventElapsedTime(&ms, begin, end), cudaErrorInvalidResourceHandle);
  ok(cudaEventRecord(begin, stream));
  add(on_device(), 1, stream);
  ok(cudaEventRecord(end, stream));
  ok(cudaEventSynchronize(end));
  ok(cudaEventElapsedTime(&ms, begin, end));
  EXPECT_GT(ms, 0);
  EXPECT_EQ(cudaEventElapsedTime(&ms, begin, new_event()), cudaErrorInvalidResourceHandle);
}

// --- host functions

TEST_P(ShimStreams, HostFunctionsRunInOrderAndMayNotCallCuda) {
  struct Seen {
    int* out;
    bool right;
    cudaError_t error;
  } seen{pinned(0), false, cudaSuccess};
  const cudaStream_t stream = new_stream();
  int* const x = on_device();
  ok(cudaMemsetAsync(x, 0, kBytes, stream));
  add(x, 2, stream);
  ok(cudaMemcpyAsync(seen.out, x, kBytes, cudaMemcpyDeviceToHost, stream));
  const auto look = [](void* argument) {
    auto& mine = *static_cast<Seen*>(argument);
    mine.right = all_are(mine.out, 2);
    mine.error = cudaDeviceSynchronize();
    mine.out[0] = 40;
  };
  ok(cudaLaunchHostFunc(stream, look, &seen));
  ok(cudaMemcpyAsync(x, seen.out, kBytes, cudaMemcpyHostToDevice, stream));
  ok(cudaStreamSynchronize(stream));
  EXPECT_TRUE(seen.right);
  EXPECT_EQ(seen.error, cudaErrorNotPermitted);
  int first = 0;
  ok(cudaMemcpy(&first, x, sizeof(first), cudaMemcpyDeviceToHost));
  EXPECT_EQ(first, 40);
}

// --- faults

__global__ void faulty_kernel() { throw std::runtime_error("the kernel's own"); }
TEST_P(ShimStreams, AFaultStaysUntilAReset) {
  const cudaStream_t first = new_stream(), second = new_stream();
  int *const x = on_device(), *const out = pinned(0);
  const cudaEvent_t event = new_event();
  AFORE_LAUNCH(faulty_kernel, dim3(1), dim3(32), 0, first);
  cudaEventRecord(event, first);  // refused where the kernel has run already
  EXPECT_EQ(cudaStreamSynchronize(first), cudaErrorLaunchFailure);
  EXPECT_EQ(last_fault(), "the kernel's own");
  EXPECT_EQ(cudaMemsetAsync(x, 0, kBytes, second), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
  ok(cudaDeviceReset());
  EXPECT_EQ(last_fault(), "");
  ok(cudaStreamWaitEvent(second, event));  // of what was dropped: holds nobody
  ok(cudaMemsetAsync(x, 0, kBytes, second));
  ok(cudaMemcpyAsync(out, x, kBytes, cudaMemcpyDeviceToHost, second));
  ok(cudaStreamSynchronize(second));
  EXPECT_TRUE(all_are(out, 0));
}

// --- threads

TEST_P(ShimStreams, TwoThreadsSynchronizeOneStream) {
  const cudaStream_t stream = new_stream();
  int* const x = on_device();
  ok(cudaMemset(x, 0, kBytes));
  std::atomic<int> errors = 0;
  const auto work = [&] {
    for (int i = 0; i < 20; ++i) {
      add(x, 1, stream);
      cudaLaunchHostFunc(
          stream, [](void*) { std::this_thread::yield(); }, nullptr);
      errors += cudaStreamSynchronize(stream) != cudaSuccess;
    }
  };
  std::thread one(work), two(work);
  one.join();
  two.join();
  std::vector<int> host(kCount);
  ok(cudaMemcpy(host.data(), x, kBytes, cudaMemcpyDeviceToHost));
  EXPECT_TRUE(all_are(host.data(), 40));
  EXPECT_EQ(errors, 0);
}

}  // namespace
}  // namespace afore::shim
