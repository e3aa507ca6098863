#include "device/cuda/gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "device/cuda/check.h"
#include "kernels/expert_ffn.h"

namespace afore::device::cuda {
namespace {

constexpr int kLeastMajor = 8;  // bf16 products and copies to shared memory behind the program's back

// Fails where the build has no code for the GPU.
cudaError_t prepare(int gpu) {
  const cudaError_t code = cudaSetDevice(gpu);
  return code == cudaSuccess ? kernels::prepare_expert_ffn() : code;
}

bool join(int reader, int owner) {
  int can = 0;
  check(cudaDeviceCanAccessPeer(&can, reader, owner), "asking whether GPUs reach each other");
  if (can == 0) return false;
  use(reader);
  const cudaError_t code = cudaDeviceEnablePeerAccess(owner, 0);
  if (code == cudaSuccess) return true;
  static_cast<void>(cudaGetLastError());
  return code == cudaErrorPeerAccessAlreadyEnabled;
}

}  // namespace

void use(int gpu) { check(cudaSetDevice(gpu), "choosing a GPU"); }

FoundGpus find_gpus() {
  FoundGpus found;
  int count = 0;  // stays as it is when the driver is missing or too old
  if (const cudaError_t code = cudaGetDeviceCount(&count); code != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    found.why_none = "no CUDA device: " + describe(code);
    return found;
  }
  found.why_none = "no CUDA device";
  for (int gpu = 0; gpu < count; ++gpu) {
    cudaDeviceProp properties{};
    if (const cudaError_t code = cudaGetDeviceProperties(&properties, gpu); code != cudaSuccess) {
      static_cast<void>(cudaGetLastError());
      found.why_none = fmt::format("no CUDA device: GPU {}: {}", gpu, describe(code));
    } else if (properties.major < kLeastMajor) {
      found.why_none = fmt::format("no CUDA device that is new enough: {} is sm_{}{}, and sm_80 is needed",
                                   properties.name, properties.major, properties.minor);
    } else if (const cudaError_t ready = prepare(gpu); ready != cudaSuccess) {
      static_cast<void>(cudaGetLastError());
      found.why_none = fmt::format("no CUDA device that this build has code for: {}, sm_{}{}: {}", properties.name,
                                   properties.major, properties.minor, describe(ready));
    } else {
      if (found.gpus.empty()) found.model = properties.name;
      found.gpus.push_back(gpu);
    }
  }
  if (!found.gpus.empty()) found.why_none.clear();
  return found;
}

std::int64_t FoundGpus::free_bytes() const {
  std::size_t least = gpus.empty() ? 0 : std::numeric_limits<std::int64_t>::max();
  for (const int gpu : gpus) {
    std::size_t free = 0, total = 0;
    use(gpu);
    check(cudaMemGetInfo(&free, &total), "asking for a GPU's free memory");
    least = std::min(least, free);
  }
  return static_cast<std::int64_t>(least);
}

bool join_peers(const std::vector<int>& gpus) {
  bool all = true;
  for (const int reader : gpus)
    for (const int owner : gpus)
      if (reader != owner) all = join(reader, owner) && all;
  return all;
}

}  // namespace afore::device::cuda
