// Devices, memory and launches of the stand-in for CUDA: what a device refuses, it refuses.
#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "kernels/gpu.h"

namespace afore::shim {
namespace {

class ShimRuntime : public ::testing::Test {
 protected:
  void SetUp() override { set_devices(1); }
  void TearDown() override {
    set_devices(1);
    set_peer_access(true);
  }
};

void ok(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorName(error));
}
int* on_device(int device) {
  ok(cudaSetDevice(device));
  int* memory = nullptr;
  ok(cudaMalloc(&memory, 100 * sizeof(int)));
  return memory;
}

// --- launches

__global__ void count_kernel(int* count) { ++*count; }
__global__ void other_kernel(int* count) { ++*count; }

// The launch's error, and that it ran only without one.
cudaError_t launch_error(dim3 grid, dim3 block, std::size_t dynamic_bytes) {
  int count = 0;
  AFORE_LAUNCH(count_kernel, grid, block, dynamic_bytes, nullptr, &count);
  const cudaError_t error = cudaPeekAtLastError();
  EXPECT_EQ(cudaGetLastError(), error);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(count > 0, error == cudaSuccess);
  return error;
}
TEST_F(ShimRuntime, LaunchesBeyondTheLimitsAreRefused) {
  EXPECT_EQ(launch_error(1, 1024, 0), cudaSuccess);
  EXPECT_EQ(launch_error(1, dim3(32, 32), 0), cudaSuccess);
  EXPECT_EQ(launch_error(1, 1025, 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch_error(1, dim3(32, 33), 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch_error(1, dim3(1, 1, 65), 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch_error(0, 1, 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch_error(1, 0, 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch_error(dim3(70000, 1), 1, 0), cudaSuccess);
  EXPECT_EQ(launch_error(dim3(1, 65536), 1, 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch_error(dim3(1, 1, 65536), 1, 0), cudaErrorInvalidConfiguration);
}
TEST_F(ShimRuntime, SharedMemoryBeyond48KiBIsAskedFor) {
  constexpr int kMore = 100 << 10, kMost = 227 << 10;
  EXPECT_EQ(launch_error(1, 1, 48 << 10), cudaSuccess);
  EXPECT_EQ(launch_error(1, 1, (48 << 10) + 1), cudaErrorInvalidConfiguration);
  ok(cudaFuncSetAttribute(other_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kMore));
  EXPECT_EQ(launch_error(1, 1, kMore), cudaErrorInvalidConfiguration);  // another kernel's
  ok(cudaFuncSetAttribute(count_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kMore));
  EXPECT_EQ(launch_error(1, 1, kMore), cudaSuccess);
  EXPECT_EQ(launch_error(1, 1, kMore + 1), cudaErrorInvalidConfiguration);
  EXPECT_EQ(cudaFuncSetAttribute(count_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kMost + 1),
            cudaErrorInvalidValue);
  ok(cudaFuncSetAttribute(count_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 48 << 10));
}

// --- devices

TEST_F(ShimRuntime, DevicesAreAThreadsOwn) {
  set_devices(3);
  int count = 0, device = -1;
  ok(cudaGetDeviceCount(&count));
  EXPECT_EQ(count, 3);
  ok(cudaSetDevice(2));
  std::thread([&] { ok(cudaGetDevice(&device)); }).join();
  EXPECT_EQ(device, 0);
  ok(cudaGetDevice(&device));
  EXPECT_EQ(device, 2);
  EXPECT_EQ(cudaSetDevice(3), cudaErrorInvalidDevice);
  cudaDeviceProp properties;
  ok(cudaGetDeviceProperties(&properties, 2));
  EXPECT_STREQ(properties.name, "CPU stand-in for CUDA");
  int value = 0;
  ok(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 2));
  EXPECT_EQ(value, properties.multiProcessorCount);
}
TEST_F(ShimRuntime, AMachineWithoutADevice) {
  set_devices(0);
  int count = -1;
  void* memory = nullptr;
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaErrorNoDevice);
  EXPECT_EQ(count, 0);
  EXPECT_EQ(cudaSetDevice(0), cudaErrorNoDevice);
  EXPECT_EQ(cudaMalloc(&memory, 1), cudaErrorNoDevice);
}

// --- memory

TEST_F(ShimRuntime, MemoryIsCountedAndBeginsAsGarbage) {
  set_devices(1, 1 << 20);
  std::size_t free_bytes = 0, total_bytes = 0;
  unsigned char *memory = nullptr, byte = 0;
  EXPECT_EQ(cudaMalloc(&memory, (1 << 20) + 1), cudaErrorMemoryAllocation);
  EXPECT_EQ(memory, nullptr);
  ok(cudaMalloc(&memory, 1 << 19));
  ok(cudaMemGetInfo(&free_bytes, &total_bytes));
  EXPECT_EQ(free_bytes, 1u << 19);
  EXPECT_EQ(total_bytes, 1u << 20);
  ok(cudaMemcpy(&byte, memory + 77, 1, cudaMemcpyDeviceToHost));
  EXPECT_EQ(byte, 0xa5);
  EXPECT_EQ(cudaFree(memory + 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeHost(memory), cudaErrorInvalidValue);
  ok(cudaFree(memory));
  EXPECT_EQ(cudaFree(memory), cudaErrorInvalidValue);
  ok(cudaMemGetInfo(&free_bytes, &total_bytes));
  EXPECT_EQ(free_bytes, total_bytes);
}
TEST_F(ShimRuntime, CopiesAreCheckedAtTheCall) {
  int* const x = on_device(0);
  int* pinned = nullptr;
  ok(cudaMallocHost(&pinned, 400));
  std::vector<int> host(100, 1);
  EXPECT_EQ(cudaMemcpy(x, host.data(), 400, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(x, host.data(), 400, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(pinned, host.data(), 400, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(x + 1, host.data(), 400, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(x, host.data(), 400, static_cast<cudaMemcpyKind>(7)), cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemset(x + 99, 0, 5), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset(host.data(), 0, 4), cudaErrorInvalidValue);
  ok(cudaMemcpy(x, host.data(), 400, cudaMemcpyDefault));
  ok(cudaMemcpy(pinned, x, 400, cudaMemcpyDefault));
  EXPECT_EQ(std::vector<int>(pinned, pinned + 100), host);
}
TEST_F(ShimRuntime, PointersSayWhatTheyAre) {
  set_devices(2);
  int* const x = on_device(1);
  int *pinned = nullptr, local = 0;
  ok(cudaMallocHost(&pinned, 4));
  cudaPointerAttributes of{};
  ok(cudaPointerGetAttributes(&of, x + 99));
  EXPECT_EQ(of.type, cudaMemoryTypeDevice);
  EXPECT_EQ(of.device, 1);
  EXPECT_EQ(of.hostPointer, nullptr);
  ok(cudaPointerGetAttributes(&of, pinned));
  EXPECT_EQ(of.type, cudaMemoryTypeHost);
  ok(cudaPointerGetAttributes(&of, &local));
  EXPECT_EQ(of.type, cudaMemoryTypeUnregistered);
}

// --- several devices

__global__ void copy_kernel(const int* from, int* to) { to[threadIdx.x] = from[threadIdx.x]; }

TEST_F(ShimRuntime, CopiesBetweenDevicesNeedNoPeerAccess) {
  set_devices(2);
  set_peer_access(false);
  int *const x = on_device(0), *const y = on_device(1), *const z = on_device(0);
  std::vector<int> host(100, 6), back(100);
  ok(cudaMemcpy(x, host.data(), 400, cudaMemcpyHostToDevice));
  ok(cudaMemcpyPeer(y, 1, x, 0, 400));
  EXPECT_EQ(cudaMemcpyPeer(y, 0, x, 0, 400), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyPeer(y, 2, x, 0, 400), cudaErrorInvalidDevice);
  cudaStream_t stream = nullptr;
  ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  ok(cudaMemcpyAsync(z, y, 400, cudaMemcpyDeviceToDevice, stream));
  ok(cudaStreamSynchronize(stream));
  ok(cudaMemcpy(back.data(), z, 400, cudaMemcpyDeviceToHost));
  EXPECT_EQ(back, host);
}

TEST_F(ShimRuntime, HandlesBelongToTheirDevice) {
  set_devices(2);
  int* const x = on_device(0);
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  ok(cudaSetDevice(1));
  ok(cudaEventCreate(&event));
  AFORE_LAUNCH(copy_kernel, dim3(1), dim3(100), 0, stream, x, x);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventRecord(event, stream), cudaErrorInvalidResourceHandle);
  ok(cudaEventDestroy(event));
  EXPECT_EQ(cudaEventSynchronize(event), cudaErrorInvalidResourceHandle);
}

TEST_F(ShimRuntime, PeerAccessIsEnabledOnce) {
  set_devices(2);
  int can = -1;
  ok(cudaDeviceCanAccessPeer(&can, 0, 1));
  EXPECT_EQ(can, 1);
  ok(cudaDeviceEnablePeerAccess(1, 0));
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(0, 0), cudaErrorInvalidDevice);
  int *const x = on_device(0), *const y = on_device(1);
  ok(cudaSetDevice(0));
  ok(cudaMemset(y, 1, 400));
  AFORE_LAUNCH(copy_kernel, dim3(1), dim3(100), 0, nullptr, y, x);
  int first = 0;
  ok(cudaMemcpy(&first, x, 4, cudaMemcpyDeviceToHost));
  EXPECT_EQ(first, 0x01010101);
  set_peer_access(false);
  ok(cudaDeviceCanAccessPeer(&can, 0, 1));
  EXPECT_EQ(can, 0);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessUnsupported);
}

// --- what only the address sanitizer sees

class ShimMemoryDeathTest : public ShimRuntime {
 protected:
  void SetUp() override {
#if !defined(__SANITIZE_ADDRESS__)
    GTEST_SKIP() << "needs the address sanitizer";
#endif
    set_devices(2);
  }
};

TEST_F(ShimMemoryDeathTest, TheHostTouchesADevice) {
  int* const x = on_device(0);
  EXPECT_DEATH(x[0] = 1, "use-after-poison");
}
TEST_F(ShimMemoryDeathTest, AKernelTouchesAnotherDevice) {
  int *const x = on_device(0), *const y = on_device(1);
  ok(cudaMemset(y, 0, 400));
  EXPECT_DEATH(AFORE_LAUNCH(copy_kernel, dim3(1), dim3(100), 0, nullptr, x, y), "use-after-poison");
  ok(cudaDeviceEnablePeerAccess(0, 0));
  AFORE_LAUNCH(copy_kernel, dim3(1), dim3(100), 0, nullptr, x, y);
}
TEST_F(ShimMemoryDeathTest, AKernelLeavesItsMemory) {
  int *const x = on_device(0), *const y = on_device(0);
  EXPECT_DEATH(AFORE_LAUNCH(copy_kernel, dim3(1), dim3(101), 0, nullptr, x, y), "heap-buffer-overflow");
}
TEST_F(ShimMemoryDeathTest, MemoryIsFreedBeforeItsWork) {
  int *const x = on_device(0), *const y = on_device(0);
  cudaStream_t stream = nullptr;
  ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  AFORE_LAUNCH(copy_kernel, dim3(1), dim3(100), 0, stream, x, y);
  ok(cudaFree(x));
  EXPECT_DEATH(cudaStreamSynchronize(stream), "heap-use-after-free");
}

}  // namespace
}  // namespace afore::shim
