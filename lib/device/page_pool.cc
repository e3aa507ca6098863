#include "device/page_pool.h"

#include <numeric>

#include "util/error.h"

namespace afore::device {

PagePool::PagePool(std::int64_t pages) : free_(static_cast<std::size_t>(pages)) {
  std::iota(free_.rbegin(), free_.rend(), 0);  // page 0 is taken first
}

void PagePool::extend(std::vector<std::int32_t>& pages, std::int64_t tokens) {
  const std::size_t needed = static_cast<std::size_t>((tokens + kPageTokens - 1) / kPageTokens);
  if (pages.size() >= needed) return;
  const std::lock_guard lock(mutex_);
  while (pages.size() < needed) {
    AFORE_CHECK(!free_.empty(), "the cache has no page left for a sequence that was admitted");
    pages.push_back(free_.back());
    free_.pop_back();
  }
}

void PagePool::release(std::vector<std::int32_t>& pages) {
  const std::lock_guard lock(mutex_);
  free_.insert(free_.end(), pages.rbegin(), pages.rend());
  pages.clear();
}

}  // namespace afore::device
