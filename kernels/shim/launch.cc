#include "kernels/shim/launch.h"

#include <map>
#include <stdexcept>

#include "kernels/shim/lock.h"

namespace {
thread_local cudaError_t last_error = cudaSuccess;
std::map<const void*, std::size_t> most_dynamic_bytes;
}  // namespace

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  if (value < 0 || value > (227 << 10)) return last_error = cudaErrorInvalidValue;
  const auto lock = afore::shim::take_lock();
  most_dynamic_bytes[kernel] = static_cast<std::size_t>(value);
  return cudaSuccess;
}
cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return last_error; }

namespace afore::shim {
namespace {

bool possible(const void* kernel, const Launch& what) {
  const dim3 &g = what.grid, &b = what.block;
  if (g.x == 0 || g.y == 0 || g.z == 0 || b.x == 0 || b.y == 0 || b.z == 0) return false;
  if (g.x > 0x7fffffff || g.y > 65535 || g.z > 65535) return false;
  if (b.x > kMostThreads || b.y > kMostThreads || b.z > 64 || b.x * b.y * b.z > kMostThreads) return false;
  const auto raised = most_dynamic_bytes.find(kernel);
  return what.dynamic_bytes <= (raised == most_dynamic_bytes.end() ? 48u << 10 : raised->second);
}

}  // namespace

void launch(cudaStream_t stream, const void* kernel, Launch what) {
  const Lock lock = take_lock();
  if (!possible(kernel, what)) {
    last_error = cudaErrorInvalidConfiguration;
    return;
  }
  if (stream != nullptr) throw std::runtime_error("streams are not there yet");
  run_blocks(what);
}

}  // namespace afore::shim
