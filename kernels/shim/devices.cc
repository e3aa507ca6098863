#include "kernels/shim/devices.h"

#include <cstdio>
#include <cstdlib>
#include <set>
#include <utility>

#include "kernels/shim/block.h"
#include "kernels/shim/status.h"

namespace afore::shim {
namespace {

int first_count() {
  const char* given = std::getenv("AFORE_SHIM_DEVICES");
  const int devices = given == nullptr ? 1 : std::atoi(given);
  return devices < 1 ? 1 : devices;
}

int count = first_count();
std::size_t memory_bytes = std::size_t{256} << 20;
bool peers_possible = true;
DriverSettings driver_settings;
std::set<std::pair<int, int>> peers;  // device, the one it has access to
thread_local int current = 0;

constexpr int kRuntimeVersion = 13000;
constexpr int kL2Bytes = 4 << 20, kAsyncEngines = 2;

cudaError_t enable_peer(int peer, unsigned flags) {
  if (const cudaError_t error = refusal()) return error;
  if (flags != 0) return cudaErrorInvalidValue;
  if (!is_device(peer) || peer == current) return cudaErrorInvalidDevice;
  if (!peers_possible) return cudaErrorPeerAccessUnsupported;
  return peers.emplace(current, peer).second ? cudaSuccess : cudaErrorPeerAccessAlreadyEnabled;
}

}  // namespace

DriverSettings& driver() { return driver_settings; }
int num_devices() { return count; }
bool is_device(int device) { return device >= 0 && device < count; }
int current_device() { return current; }
std::size_t device_memory_bytes() { return memory_bytes; }
bool has_access(int device, int owner) { return device == owner || peers.contains({device, owner}); }

void reset_devices(int count_, std::size_t memory_bytes_) {
  count = count_;
  memory_bytes = memory_bytes_;
  peers.clear();
  current = 0;
}

void set_driver(const DriverSettings& settings) {
  const Lock lock = take_lock();
  driver_settings = settings;
}

void set_peer_access(bool possible) {
  const Lock lock = take_lock();
  peers_possible = possible;
  peers.clear();
}

}  // namespace afore::shim

using namespace afore::shim;

cudaError_t cudaDriverGetVersion(int* version) {
  const Lock lock = take_lock();
  *version = driver().version;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = kRuntimeVersion;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* devices) {
  const Lock lock = take_lock();
  *devices = num_devices();
  return report(*devices == 0 ? cudaErrorNoDevice : cudaSuccess);
}
cudaError_t cudaSetDevice(int device) {
  const Lock lock = take_lock();
  if (num_devices() == 0) return report(cudaErrorNoDevice);
  if (!is_device(device)) return report(cudaErrorInvalidDevice);
  current = device;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = current;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  const Lock lock = take_lock();
  if (!is_device(device)) return report(cudaErrorInvalidDevice);
  cudaDeviceProp& p = *properties;
  p = {};
  std::snprintf(p.name, sizeof(p.name), "CPU stand-in for CUDA");
  p.totalGlobalMem = memory_bytes;
  p.sharedMemPerBlock = kSharedBytes;
  p.sharedMemPerBlockOptin = kMostSharedBytes;
  p.sharedMemPerMultiprocessor = kMostSharedBytes + 1024;
  p.warpSize = kWarpLanes;
  p.maxThreadsPerBlock = p.maxThreadsDim[0] = p.maxThreadsDim[1] = kMostThreads;
  p.maxThreadsDim[2] = 64;
  p.maxGridSize[0] = 0x7fffffff;
  p.maxGridSize[1] = p.maxGridSize[2] = 65535;
  p.major = 9;
  p.multiProcessorCount = static_cast<int>(driver().sms);
  p.concurrentKernels = p.unifiedAddressing = p.streamPrioritiesSupported = 1;
  p.pciBusID = device;
  p.asyncEngineCount = kAsyncEngines;
  p.l2CacheSize = kL2Bytes;
  p.maxThreadsPerMultiProcessor = 2048;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  cudaDeviceProp p;
  if (const cudaError_t error = cudaGetDeviceProperties(&p, device)) return error;
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock: *value = p.maxThreadsPerBlock; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = static_cast<int>(p.sharedMemPerBlock); break;
    case cudaDevAttrWarpSize: *value = p.warpSize; break;
    case cudaDevAttrMultiProcessorCount: *value = p.multiProcessorCount; break;
    case cudaDevAttrL2CacheSize: *value = p.l2CacheSize; break;
    case cudaDevAttrAsyncEngineCount: *value = p.asyncEngineCount; break;
    case cudaDevAttrUnifiedAddressing: *value = p.unifiedAddressing; break;
    case cudaDevAttrComputeCapabilityMajor: *value = p.major; break;
    case cudaDevAttrComputeCapabilityMinor: *value = p.minor; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = static_cast<int>(p.sharedMemPerMultiprocessor); break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = static_cast<int>(p.sharedMemPerBlockOptin); break;
    default: return report(cudaErrorInvalidValue);
  }
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  const Lock lock = take_lock();
  if (!is_device(device) || !is_device(peer)) return report(cudaErrorInvalidDevice);
  *can = peers_possible && device != peer;
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  const Lock lock = take_lock();
  return report(enable_peer(peer, flags));
}
cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  const Lock lock = take_lock();
  return report(peers.erase({current, peer}) == 1 ? cudaSuccess : cudaErrorPeerAccessNotEnabled);
}
