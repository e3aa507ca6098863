#include "bench/gpu/gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "util/error.h"
#include "util/stats.h"

namespace afore::bench::gpu {
namespace {

class Event {
 public:
  Event() { check(cudaEventCreate(&event_), "creating an event"); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { static_cast<void>(cudaEventDestroy(event_)); }
  void record() { check(cudaEventRecord(event_, stream()), "recording an event"); }
  double ns_since(const Event& earlier) const {
    float ms = 0;
    check(cudaEventElapsedTime(&ms, earlier.event_, event_), "reading an event's time");
    return double{ms} * 1e6;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

std::string version(int number) { return fmt::format("{}.{}", number / 1000, number % 1000 / 10); }

}  // namespace

void check(cudaError_t code, const char* doing) {
  if (code == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());
  throw Error(ErrorKind::io, fmt::format("{}: {} ({})", doing, cudaGetErrorString(code), cudaGetErrorName(code)));
}

cudaStream_t stream() {
  static const cudaStream_t only = [] {
    cudaStream_t made = nullptr;
    check(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "creating a stream");
    return made;
  }();
  return only;
}

void finish(const char* doing) {
  check(cudaGetLastError(), doing);
  check(cudaStreamSynchronize(stream()), doing);
}

void* allocate(std::size_t bytes) {
  void* memory = nullptr;
  const std::size_t some = std::max<std::size_t>(bytes, 1);
  check(cudaMalloc(&memory, some), "allocating device memory");
  check(cudaMemsetAsync(memory, 0xa5, some, stream()), "filling device memory");
  finish("filling device memory");
  return memory;
}

void release(void* memory) { static_cast<void>(cudaFree(memory)); }

void upload(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream()), "copying to the device");
  finish("copying to the device");
}

void download(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  finish("before copying from the device");
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream()), "copying from the device");
  finish("copying from the device");
}

Times summarize(std::vector<double> ns) {
  Times times{.median = 0, .p95 = 0, .n = std::ssize(ns)};
  times.median = quantile(ns, 0.5).value_or(0);
  times.p95 = quantile(ns, 0.95).value_or(0);
  return times;
}

Times time_on_gpu(int warmup, int n, const std::function<void(int)>& enqueue) {
  for (int i = 0; i < warmup; ++i) enqueue(i);
  finish("warming up");
  std::vector<Event> events(static_cast<std::size_t>(n) + 1);
  events[0].record();
  for (int i = 0; i < n; ++i) {
    enqueue(warmup + i);
    events[static_cast<std::size_t>(i) + 1].record();
  }
  finish("measuring");
  std::vector<double> ns;
  for (std::size_t i = 1; i < events.size(); ++i) ns.push_back(events[i].ns_since(events[i - 1]));
  return summarize(std::move(ns));
}

double now_ns() {
  return static_cast<double>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

std::string why_no_device() {
  int count = 0;  // stays as it is when the driver is missing or too old
  if (const cudaError_t code = cudaGetDeviceCount(&count); code != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return fmt::format("no CUDA device: {}", cudaGetErrorString(code));
  }
  return count > 0 ? "" : "no CUDA device";
}

DeviceFacts device_facts() {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0), "asking what the device is");
  int driver = 0, runtime = 0;
  check(cudaDriverGetVersion(&driver), "asking for the driver's version");
  check(cudaRuntimeGetVersion(&runtime), "asking for the runtime's version");
  return {.name = properties.name,
          .capability = fmt::format("{}.{}", properties.major, properties.minor),
          .driver = version(driver),
          .runtime = version(runtime),
          .multiprocessors = properties.multiProcessorCount,
          .memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem),
          .l2_bytes = properties.l2CacheSize};
}

void parallel_for(std::int64_t count, const std::function<void(std::int64_t)>& f) {
  std::atomic<std::int64_t> next{0};
  std::vector<std::thread> threads;
  const auto work = [&] {
    for (std::int64_t i = next++; i < count; i = next++) f(i);
  };
  const std::int64_t wanted = std::min<std::int64_t>(count, std::max(1u, std::thread::hardware_concurrency()));
  for (std::int64_t t = 1; t < wanted; ++t) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace afore::bench::gpu
