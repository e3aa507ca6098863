#include "kernels/shim/shared_memory.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>

// The section's ends, by the linker: null where no kernel has static shared memory.
extern "C" {
__attribute__((weak, visibility("hidden"))) extern std::byte __start_afore_shared[];
__attribute__((weak, visibility("hidden"))) extern std::byte __stop_afore_shared[];
}

namespace afore::shim {
namespace {

constexpr std::uint8_t kSpoilt = 0xa5;
std::byte* dynamic = nullptr;
std::size_t dynamic_bytes = 0;

bool lies_in(const std::byte* begin, const std::byte* end, const std::byte* first, std::size_t bytes) {
  return begin != nullptr && std::less_equal{}(begin, first) && std::less_equal{}(first + bytes, end);
}

// Between the variables are the address sanitizer's guards, which may be written as long as it does not look: volatile,
// lest this becomes a memset, where it does.
__attribute__((no_sanitize("address", "undefined"))) void spoil_static() {
  auto at = reinterpret_cast<std::uintptr_t>(__start_afore_shared);
  const auto end = reinterpret_cast<std::uintptr_t>(__stop_afore_shared);
  for (; at < end && (at % 8 != 0 || end - at < 8); ++at) *reinterpret_cast<volatile std::uint8_t*>(at) = kSpoilt;
  for (; end - at >= 8; at += 8) *reinterpret_cast<volatile std::uint64_t*>(at) = kSpoilt * 0x0101010101010101u;
  for (; at < end; ++at) *reinterpret_cast<volatile std::uint8_t*>(at) = kSpoilt;
}

}  // namespace

DynamicShared::DynamicShared(std::size_t bytes) {
  dynamic = static_cast<std::byte*>(std::malloc(std::max<std::size_t>(bytes, 1)));
  if (dynamic == nullptr) throw std::bad_alloc();
  dynamic_bytes = bytes;
}
DynamicShared::~DynamicShared() {
  std::free(dynamic);
  dynamic = nullptr;
  dynamic_bytes = 0;
}
void* dynamic_shared() { return dynamic; }

void spoil_shared() {
  spoil_static();
  std::memset(dynamic, kSpoilt, dynamic_bytes);
}

bool is_shared(const void* pointer, std::size_t bytes) {
  const auto* first = static_cast<const std::byte*>(pointer);
  return lies_in(dynamic, dynamic + dynamic_bytes, first, bytes) ||
         lies_in(__start_afore_shared, __stop_afore_shared, first, bytes);
}

}  // namespace afore::shim
