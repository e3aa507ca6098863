#include "device/cuda/buffer.h"

#include <fmt/format.h>

#include "device/cuda/check.h"
#include "device/cuda/gpus.h"

namespace afore::device::cuda {

std::mutex& gpu_memory_mutex() {
  static std::mutex mutex;
  return mutex;
}

Memory::Memory(const Place& place, std::size_t bytes) : bytes_(bytes), host_(place.host) {
  if (bytes == 0) return;
  use(place.gpu);
  const std::lock_guard lock(gpu_memory_mutex());
  void* data = nullptr;
  const cudaError_t code = place.host ? cudaHostAlloc(&data, bytes, cudaHostAllocPortable) : cudaMalloc(&data, bytes);
  if (code != cudaSuccess)
    check(code,
          fmt::format("{}, {} bytes {}", place.what, bytes,
                      place.host ? std::string("of the host, pinned") : fmt::format("on GPU {}", place.gpu))
              .c_str(),
          place.hint);
  data_ = static_cast<std::byte*>(data);
}

Memory::~Memory() {
  if (data_ == nullptr) return;
  const std::lock_guard lock(gpu_memory_mutex());
  if (host_) cudaFreeHost(data_);
  else cudaFree(data_);
}

Memory& Memory::operator=(Memory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(host_, other.host_);
  return *this;
}

}  // namespace afore::device::cuda
