#pragma once
// One attention worker's cached keys and values: pages of kPageTokens positions in every layer at once, so that a
// sequence has one list of pages. Memory is mapped at the start and backed by the system as it is used.
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "device/cpu/attention.h"

namespace afore::device::cpu {

class KvCache {
 public:
  // Error{io} when the system refuses the address space.
  KvCache(const AttentionShape& shape, int layers, std::int64_t pages);
  ~KvCache();
  KvCache(const KvCache&) = delete;
  KvCache& operator=(const KvCache&) = delete;

  float* layer(int layer) { return base_ + static_cast<std::size_t>(layer) * layer_floats_; }
  // Makes room for positions 0 … tokens - 1 of a sequence. The batcher reserves memory before it admits, so pages
  // cannot run out: AFORE_CHECK. Thread-safe, as is release().
  void extend(std::vector<std::int32_t>& pages, std::int64_t tokens);
  void release(std::vector<std::int32_t>& pages);

 private:
  float* base_ = nullptr;
  std::size_t layer_floats_ = 0, bytes_ = 0;
  std::mutex mutex_;
  std::vector<std::int32_t> free_;
};

}  // namespace afore::device::cpu
