#pragma once
// The pages of one attention worker's cache of keys and values: which are free. A page is kPageTokens positions in
// every layer at once, so that a sequence has one list of pages.
#include <cstdint>
#include <mutex>
#include <vector>

namespace afore::device {

inline constexpr int kPageTokens = 16;

class PagePool {
 public:
  explicit PagePool(std::int64_t pages);

  // Makes room for positions 0 … tokens - 1 of a sequence. The batcher reserves memory before it admits, so pages
  // cannot run out: AFORE_CHECK. Thread-safe, as is release().
  void extend(std::vector<std::int32_t>& pages, std::int64_t tokens);
  void release(std::vector<std::int32_t>& pages);

 private:
  std::mutex mutex_;
  std::vector<std::int32_t> free_;
};

}  // namespace afore::device
