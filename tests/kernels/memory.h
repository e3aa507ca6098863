#pragma once
// Memory that notices what is outside it.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "inputs.h"

namespace afore::kernels {

// Exactly `size` elements that end where memory does: what reads or writes beyond them stops the program. What is
// written before them is an error when they go.
template <class T>
class Memory {
 public:
  explicit Memory(std::size_t size, T fill = T{}) : size_(size) {
    map_bytes_ = (size * sizeof(T) + kPage - 1) / kPage * kPage + kPage;
    void* map = mmap(nullptr, map_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED || mprotect(static_cast<std::byte*>(map) + map_bytes_ - kPage, kPage, PROT_NONE) != 0)
      throw std::bad_alloc();
    map_ = static_cast<std::byte*>(map);
    data_ = reinterpret_cast<T*>(map_ + map_bytes_ - kPage - size * sizeof(T));
    std::fill(map_, reinterpret_cast<std::byte*>(data_), kCanary);
    std::fill_n(data_, size, fill);
  }
  template <class Range>
  requires requires(const Range& r) { std::size(r); }
  Memory(const Range& values) : Memory(std::size(values)) { std::copy(std::begin(values), std::end(values), data_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() {
    EXPECT_TRUE(std::all_of(map_, reinterpret_cast<std::byte*>(data_), [](std::byte b) { return b == kCanary; }))
        << "written before the beginning";
    munmap(map_, map_bytes_);
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  std::vector<T> values() const { return {begin(), end()}; }

 private:
  static constexpr std::size_t kPage = 4096;
  static constexpr std::byte kCanary{0xa5};

  std::size_t size_, map_bytes_;
  std::byte* map_;
  T* data_;
};

}  // namespace afore::kernels
