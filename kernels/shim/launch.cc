#include "kernels/shim/launch.h"

#include <map>
#include <utility>

#include "kernels/shim/devices.h"
#include "kernels/shim/lock.h"
#include "kernels/shim/memory.h"
#include "kernels/shim/queues.h"
#include "kernels/shim/status.h"

namespace afore::shim {
namespace {

// Of a kernel on a device, where it was asked for.
std::map<std::pair<int, const void*>, std::size_t> most_dynamic_bytes;

std::set<LaunchPlace> launch_places;

// A kernel's static shared memory is not known here, so the dynamic part alone is held to the limit.
bool possible(const void* kernel, const Launch& what) {
  const dim3 &g = what.grid, &b = what.block;
  if (g.x == 0 || g.y == 0 || g.z == 0 || b.x == 0 || b.y == 0 || b.z == 0) return false;
  if (g.x > 0x7fffffff || g.y > 65535 || g.z > 65535) return false;
  if (b.x > kMostThreads || b.y > kMostThreads || b.z > 64 || b.x * b.y * b.z > kMostThreads) return false;
  const auto raised = most_dynamic_bytes.find({current_device(), kernel});
  return what.dynamic_bytes <= (raised == most_dynamic_bytes.end() ? kSharedBytes : raised->second);
}

void run(int device, const Launch& what) {
  const Access access(device);
  run_blocks(what);
}

cudaError_t set_attribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  if (const cudaError_t error = refusal()) return error;
  switch (attribute) {
    case cudaFuncAttributePreferredSharedMemoryCarveout: return cudaSuccess;
    case cudaFuncAttributeMaxDynamicSharedMemorySize: break;
    default: return cudaErrorInvalidValue;
  }
  if (value < 0 || static_cast<std::size_t>(value) > kMostSharedBytes) return cudaErrorInvalidValue;
  most_dynamic_bytes[{current_device(), kernel}] = static_cast<std::size_t>(value);
  return cudaSuccess;
}

}  // namespace

std::set<LaunchPlace> take_launch_places() {
  const Lock lock = take_lock();
  return std::exchange(launch_places, {});
}

void launch(cudaStream_t handle, const void* kernel, Launch what) {
  Lock lock = take_lock();
  const int device = current_device();
  cudaError_t error = refusal();
  if (error == cudaSuccess && !possible(kernel, what)) error = cudaErrorInvalidConfiguration;
  if (error != cudaSuccess || handle == nullptr) {
    if (report(error) == cudaSuccess) run(device, what);
    return;
  }
  const std::shared_ptr<CUstream_st> stream = find_stream(handle);
  if (stream == nullptr || stream->device != device) {
    report(cudaErrorInvalidResourceHandle);
    return;
  }
  launch_places.insert({device, stream->first_sm, stream->sms});
  enqueue(lock, *stream, {.run = [device, what = std::move(what)] { run(device, what); }});
}

}  // namespace afore::shim

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  const auto lock = afore::shim::take_lock();
  return afore::shim::report(afore::shim::set_attribute(kernel, attribute, value));
}
