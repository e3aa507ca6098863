#pragma once
// Memory of a benchmark: zeroed, on large pages unless asked not to.
#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace afore::bench {

class Pages {
 public:
  Pages(std::size_t bytes, bool small) : size_((bytes + kLarge - 1) / kLarge * kLarge) {
    data_ = static_cast<std::byte*>(std::aligned_alloc(kLarge, size_));
    if (data_ == nullptr) std::abort();
    madvise(data_, size_, small ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
    std::memset(data_, 0, size_);
  }
  ~Pages() { std::free(data_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  static constexpr std::size_t kLarge = std::size_t{2} << 20;
  std::size_t size_;
  std::byte* data_;
};

}  // namespace afore::bench
