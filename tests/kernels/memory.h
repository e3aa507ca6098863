#pragma once
// Memory that notices what is outside it, and inputs.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "kernels/bf16.h"
#include "kernels/gpu.h"

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

// The same numbers for the same seed everywhere.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {  // splitmix64
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  std::int32_t below(std::int32_t end) { return static_cast<std::int32_t>(next() % static_cast<std::uint64_t>(end)); }
  // In [-1, 1), a multiple of 2^-23.
  float signed_unit() { return static_cast<float>(next() >> 40) * 0x1p-23f - 1.0f; }

  std::vector<float> floats(std::size_t count, float scale = 1) {
    std::vector<float> values(count);
    for (float& v : values) v = signed_unit() * scale;
    return values;
  }
  std::vector<std::uint16_t> bf16s(std::size_t count, float scale = 1) {
    std::vector<std::uint16_t> values(count);
    for (std::uint16_t& v : values) v = bf16_of(signed_unit() * scale);
    return values;
  }

 private:
  std::uint64_t state_;
};

template <class A, class B>
bool same_bytes(const A& a, const B& b) {
  const auto a_bytes = std::as_bytes(std::span(std::data(a), std::size(a)));
  const auto b_bytes = std::as_bytes(std::span(std::data(b), std::size(b)));
  return std::ranges::equal(a_bytes, b_bytes);
}

inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr std::uint16_t kBf16NaN = 0x7fc0;

}  // namespace afore::kernels
