// The runtime API's copies.
#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

#include "kernels/shim/devices.h"
#include "kernels/shim/memory.h"
#include "kernels/shim/queues.h"
#include "kernels/shim/status.h"

using namespace afore::shim;

namespace {

struct Ends {
  Place to, from;
};

cudaError_t check_kind(cudaMemcpyKind kind, const Ends& ends) {
  const bool to_device = ends.to.type == cudaMemoryTypeDevice, from_device = ends.from.type == cudaMemoryTypeDevice;
  bool right = true;
  switch (kind) {
    case cudaMemcpyHostToHost: right = !to_device && !from_device; break;
    case cudaMemcpyHostToDevice: right = to_device && !from_device; break;
    case cudaMemcpyDeviceToHost: right = !to_device && from_device; break;
    case cudaMemcpyDeviceToDevice: right = to_device && from_device; break;
    case cudaMemcpyDefault: break;
    default: return cudaErrorInvalidMemcpyDirection;
  }
  return right ? cudaSuccess : cudaErrorInvalidValue;
}

void copy_now(void* to, const void* from, std::size_t bytes) {
  const Access access(to, from);
  std::memmove(to, from, bytes);
}

cudaError_t locate_ends(void* to, const void* from, std::size_t bytes, Ends* ends) {
  if (const cudaError_t error = refusal()) return error;
  if (const cudaError_t error = locate(to, bytes, &ends->to)) return error;
  return locate(from, bytes, &ends->from);
}

cudaError_t queue_copy(Lock& lock, const std::shared_ptr<CUstream_st>& stream, const Ends& ends, void* to,
                       const void* from, std::size_t bytes) {
  if (ends.from.type == cudaMemoryTypeUnregistered && ends.to.type == cudaMemoryTypeDevice) {
    const auto* begin = static_cast<const std::byte*>(from);
    enqueue(lock, *stream, {.run = [=, staged = std::vector<std::byte>(begin, begin + bytes)] {
              copy_now(to, staged.data(), bytes);
            }});
    return cudaSuccess;
  }
  enqueue(lock, *stream, {.run = [=] { copy_now(to, from, bytes); }});
  const bool pageable = ends.to.type == cudaMemoryTypeUnregistered || ends.from.type == cudaMemoryTypeUnregistered;
  return pageable ? finish(lock, stream) : cudaSuccess;
}

cudaError_t copy(Lock& lock, const Ends& ends, void* to, const void* from, std::size_t bytes, cudaStream_t handle) {
  if (bytes == 0) return cudaSuccess;
  if (handle == nullptr) {
    copy_now(to, from, bytes);
    return cudaSuccess;
  }
  const std::shared_ptr<CUstream_st> stream = find_stream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  return queue_copy(lock, stream, ends, to, from, bytes);
}

}  // namespace

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  Lock lock = take_lock();
  Ends ends;
  if (const cudaError_t error = locate_ends(to, from, bytes, &ends)) return report(error);
  if (const cudaError_t error = check_kind(kind, ends)) return report(error);
  return report(copy(lock, ends, to, from, bytes, stream));
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return cudaMemcpyAsync(to, from, bytes, kind, nullptr);
}

cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, std::size_t bytes,
                                cudaStream_t stream) {
  Lock lock = take_lock();
  Ends ends;
  if (const cudaError_t error = locate_ends(to, from, bytes, &ends)) return report(error);
  if (!is_device(to_device) || !is_device(from_device)) return report(cudaErrorInvalidDevice);
  const auto lies_on = [](const Place& place, int device) {
    return place.type == cudaMemoryTypeDevice && place.device == device;
  };
  if (!lies_on(ends.to, to_device) || !lies_on(ends.from, from_device)) return report(cudaErrorInvalidValue);
  return report(copy(lock, ends, to, from, bytes, stream));
}
cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, std::size_t bytes) {
  return cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, nullptr);
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t handle) {
  Lock lock = take_lock();
  Place place;
  if (const cudaError_t error = refusal()) return report(error);
  if (const cudaError_t error = locate(to, bytes, &place)) return report(error);
  if (place.type == cudaMemoryTypeUnregistered) return report(cudaErrorInvalidValue);
  const auto set = [=] {
    const Access access(to, to);
    std::memset(to, value, bytes);
  };
  if (handle == nullptr) {
    set();
    return cudaSuccess;
  }
  const std::shared_ptr<CUstream_st> stream = find_stream(handle);
  if (stream == nullptr) return report(cudaErrorInvalidResourceHandle);
  enqueue(lock, *stream, {.run = set});
  return cudaSuccess;
}
cudaError_t cudaMemset(void* to, int value, std::size_t bytes) { return cudaMemsetAsync(to, value, bytes, nullptr); }
