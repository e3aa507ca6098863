#pragma once
// One attention worker's cached keys and values, in pages. Memory is mapped at the start and backed by the system as it
// is used.
#include <cstdint>

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
  PagePool& pages() { return pages_; }

 private:
  float* base_ = nullptr;
  std::size_t layer_floats_ = 0, bytes_ = 0;
  PagePool pages_;
};

}  // namespace afore::device::cpu
