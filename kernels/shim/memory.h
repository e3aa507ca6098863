#pragma once
// What cudaMalloc and cudaMallocHost have given. Callers hold the lock.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/shim/runtime_api.h"

namespace afore::shim {

struct Place {
  cudaMemoryType type = cudaMemoryTypeUnregistered;
  int device = 0;
};
// Where `bytes` at `pointer` lie. cudaErrorInvalidValue when they go beyond an allocation's end.
cudaError_t locate(const void* pointer, std::size_t bytes, Place* place);

// Nobody but who holds one of these may touch memory of a device (the address sanitizer sees to it).
class Access {
 public:
  explicit Access(int device);           // as a kernel there
  Access(const void* a, const void* b);  // to the allocations that two addresses lie in
  ~Access();
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;

 private:
  void add(std::uintptr_t address);
  std::vector<std::uintptr_t> shown_;
};

void free_all();

}  // namespace afore::shim
