#include "kernels/shim/memory.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>

#include "kernels/shim/devices.h"
#include "kernels/shim/fiber.h"
#include "kernels/shim/status.h"

#if defined(AFORE_SHIM_ASAN)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes) (static_cast<void>(address), static_cast<void>(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) (static_cast<void>(address), static_cast<void>(bytes))
#endif

namespace afore::shim {
namespace {

struct Allocation {
  std::size_t bytes;
  Place place;
};
std::map<std::uintptr_t, Allocation> allocations;  // by first address

std::uintptr_t address_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }
void* pointer_to(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

// The one that holds the address, or end().
auto find(const void* pointer) {
  auto next = allocations.upper_bound(address_of(pointer));
  if (next == allocations.begin()) return allocations.end();
  --next;
  return address_of(pointer) < next->first + next->second.bytes ? next : allocations.end();
}

std::size_t used_bytes(int device) {
  std::size_t bytes = 0;
  for (const auto& [address, one] : allocations)
    if (one.place.type == cudaMemoryTypeDevice && one.place.device == device) bytes += one.bytes;
  return bytes;
}

void hide(std::uintptr_t address, const Allocation& one) {
  if (one.place.type == cudaMemoryTypeDevice) ASAN_POISON_MEMORY_REGION(pointer_to(address), one.bytes);
}
void show(std::uintptr_t address, const Allocation& one) {
  ASAN_UNPOISON_MEMORY_REGION(pointer_to(address), one.bytes);
}

// Of exactly the size asked for, so that the address sanitizer sees the ends; aligned as CUDA does.
cudaError_t allocate(void** pointer, std::size_t bytes, cudaMemoryType type) {
  *pointer = nullptr;
  if (const cudaError_t error = refusal()) return error;
  if (bytes == 0) return cudaSuccess;
  const int device = current_device();
  if (type == cudaMemoryTypeDevice && bytes > device_memory_bytes() - used_bytes(device))
    return cudaErrorMemoryAllocation;
  if (posix_memalign(pointer, 256, bytes) != 0) return cudaErrorMemoryAllocation;
  std::memset(*pointer, 0xa5, bytes);
  hide(address_of(*pointer), allocations[address_of(*pointer)] = {bytes, {type, device}});
  return cudaSuccess;
}

cudaError_t release(void* pointer, cudaMemoryType type) {
  if (const cudaError_t error = refusal()) return error;
  if (pointer == nullptr) return cudaSuccess;
  const auto found = allocations.find(address_of(pointer));
  if (found == allocations.end() || found->second.place.type != type) return cudaErrorInvalidValue;
  show(found->first, found->second);
  allocations.erase(found);
  std::free(pointer);
  return cudaSuccess;
}

}  // namespace

cudaError_t locate(const void* pointer, std::size_t bytes, Place* place) {
  *place = {};
  if (const auto found = find(pointer); found != allocations.end()) {
    if (bytes > found->first + found->second.bytes - address_of(pointer)) return cudaErrorInvalidValue;
    *place = found->second.place;
  }
  return cudaSuccess;
}

Access::Access(int device) {
  for (const auto& [address, one] : allocations)
    if (has_access(device, one.place.device)) add(address);
}
Access::Access(const void* a, const void* b) {
  for (const void* pointer : {a, b})
    if (const auto found = find(pointer); found != allocations.end()) add(found->first);
}
void Access::add(std::uintptr_t address) {
  show(address, allocations.at(address));
  shown_.push_back(address);
}
Access::~Access() {
  for (const std::uintptr_t address : shown_) hide(address, allocations.at(address));
}

void free_all() {
  for (const auto& [address, one] : allocations) {
    show(address, one);
    std::free(pointer_to(address));
  }
  allocations.clear();
}

}  // namespace afore::shim

using namespace afore::shim;

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  const Lock lock = take_lock();
  return report(allocate(pointer, bytes, cudaMemoryTypeDevice));
}
cudaError_t cudaFree(void* pointer) {
  const Lock lock = take_lock();
  return report(release(pointer, cudaMemoryTypeDevice));
}
cudaError_t cudaMallocHost(void** pointer, std::size_t bytes) {
  const Lock lock = take_lock();
  return report(allocate(pointer, bytes, cudaMemoryTypeHost));
}
cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned) { return cudaMallocHost(pointer, bytes); }
cudaError_t cudaFreeHost(void* pointer) {
  const Lock lock = take_lock();
  return report(release(pointer, cudaMemoryTypeHost));
}

cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  const Lock lock = take_lock();
  if (const cudaError_t error = refusal()) return report(error);
  *total_bytes = device_memory_bytes();
  *free_bytes = *total_bytes - used_bytes(current_device());
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  const Lock lock = take_lock();
  Place place;
  locate(pointer, 1, &place);
  void* const same = const_cast<void*>(pointer);
  const bool known = place.type != cudaMemoryTypeUnregistered, on_device = place.type == cudaMemoryTypeDevice;
  *attributes = {place.type, known ? place.device : -2, known ? same : nullptr, on_device ? nullptr : same};
  return cudaSuccess;
}
