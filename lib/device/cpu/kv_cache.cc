#include "device/cpu/kv_cache.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include "util/error.h"

namespace afore::device::cpu {

KvCache::KvCache(const AttentionShape& shape, int layers, std::int64_t pages)
    : layer_floats_(static_cast<std::size_t>(pages * shape.page_floats())),
      bytes_(layer_floats_ * layers * sizeof(float)),
      pages_(pages) {
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    throw Error(ErrorKind::io, fmt::format("no address space for {} bytes of cached keys and values", bytes_),
                "give a smaller --kv-budget-tokens");
  base_ = static_cast<float*>(memory);
  // Every token reads all of its sequence in pages that lie anywhere: small pages of the system's cost a walk each. A
  // system that has no large ones says no, and nothing is lost.
  madvise(memory, bytes_, MADV_HUGEPAGE);
}

KvCache::~KvCache() { munmap(base_, bytes_); }

}  // namespace afore::device::cpu
