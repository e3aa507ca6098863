#include "device/cpu/kv_cache.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <numeric>

#include "util/error.h"

namespace afore::device::cpu {

KvCache::KvCache(const AttentionShape& shape, int layers, std::int64_t pages)
    : layer_floats_(static_cast<std::size_t>(pages * shape.page_floats())),
      bytes_(layer_floats_ * layers * sizeof(float)) {
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    throw Error(ErrorKind::io, fmt::format("no address space for {} bytes of cached keys and values", bytes_),
                "give a smaller --kv-budget-tokens");
  base_ = static_cast<float*>(memory);
  // Every token reads all of its sequence in pages that lie anywhere: small pages of the system's cost a walk each. A
  // system that has no large ones says no, and nothing is lost.
  madvise(memory, bytes_, MADV_HUGEPAGE);
  free_.resize(static_cast<std::size_t>(pages));
  std::iota(free_.rbegin(), free_.rend(), 0);  // page 0 is taken first
}

KvCache::~KvCache() { munmap(base_, bytes_); }

void KvCache::extend(std::vector<std::int32_t>& pages, std::int64_t tokens) {
  const std::size_t needed = static_cast<std::size_t>((tokens + kPageTokens - 1) / kPageTokens);
  if (pages.size() >= needed) return;
  const std::lock_guard lock(mutex_);
  while (pages.size() < needed) {
    AFORE_CHECK(!free_.empty(), "the cache has no page left for a sequence that was admitted");
    pages.push_back(free_.back());
    free_.pop_back();
  }
}

void KvCache::release(std::vector<std::int32_t>& pages) {
  const std::lock_guard lock(mutex_);
  free_.insert(free_.end(), pages.rbegin(), pages.rend());
  pages.clear();
}

}  // namespace afore::device::cpu
