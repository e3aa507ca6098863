#pragma once
// Device memory, times and errors, for one thread on GPU 0. Everything runs on one stream of this program's own: copies
// here are on it too and are done when they return, so that nothing is ordered by accident.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/gpu.h"

namespace afore::bench::gpu {

// Error{io} with CUDA's words.
void check(cudaError_t code, const char* doing);
cudaStream_t stream();
// Until what was enqueued is done; launches that were refused are errors here.
void finish(const char* doing);

void* allocate(std::size_t bytes);
void release(void* memory);
void upload(void* to, const void* from, std::size_t bytes);
void download(void* to, const void* from, std::size_t bytes);

// `size` elements of device memory, beginning as 0xa5 bytes: not a number, and no index.
template <class T>
class Buffer {
 public:
  explicit Buffer(std::size_t size) : size_(size), data_(static_cast<T*>(allocate(size * sizeof(T)))) {}
  explicit Buffer(const std::vector<T>& values) : Buffer(values.size()) {
    upload(data_, values.data(), values.size() * sizeof(T));
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { release(data_); }

  T* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::vector<T> values() const {
    std::vector<T> all(size_);
    download(all.data(), data_, size_ * sizeof(T));
    return all;
  }

 private:
  std::size_t size_;
  T* data_;
};

struct Times {  // ns
  double median = 0, p95 = 0;
  std::int64_t n = 0;
};
Times summarize(std::vector<double> ns);
// Between events before and after each call of `enqueue`, after `warmup` calls; all are enqueued without a pause.
Times time_on_gpu(int warmup, int n, const std::function<void(int)>& enqueue);
double now_ns();  // a steady clock

struct DeviceFacts {
  std::string name, capability, driver, runtime;
  int multiprocessors = 0;
  std::int64_t memory_bytes = 0, l2_bytes = 0;
};
// Why there is no device to check; empty where there is one.
std::string why_no_device();
DeviceFacts device_facts();

// Runs f(0) … f(count - 1) on all processors of the host: twins of large shapes take their time.
void parallel_for(std::int64_t count, const std::function<void(std::int64_t)>& f);

}  // namespace afore::bench::gpu
