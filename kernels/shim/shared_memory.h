#pragma once
// A block's shared memory. One block runs at a time, so `__shared__` is static; not thread_local, since the address
// sanitizer would not see its ends. It lies in a section of its own, so that every block finds it spoilt as a device
// may leave it. (g++ lets only functions of internal linkage put something there, or only inline ones, in one source:
// kernels and what declares shared memory belong in an unnamed namespace.)
#include <cstddef>

#define AFORE_SHIM_SHARED static __attribute__((section("afore_shared")))

namespace afore::shim {

// The launch's. Exactly as large as asked for, so that the address sanitizer sees both its ends.
class DynamicShared {
 public:
  explicit DynamicShared(std::size_t bytes);
  ~DynamicShared();
  DynamicShared(const DynamicShared&) = delete;
  DynamicShared& operator=(const DynamicShared&) = delete;
};
void* dynamic_shared();

// 0xa5 bytes, static and dynamic.
void spoil_shared();
bool is_shared(const void* pointer, std::size_t bytes);

}  // namespace afore::shim
