#pragma once
// Inputs of kernels, for tests and for gpu_check: the same for the same seed everywhere.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "kernels/bf16.h"

namespace afore::kernels {

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

// In [-size, size), the same everywhere.
inline std::vector<float> random_floats(std::size_t count, std::uint64_t seed, float size) {
  std::mt19937_64 random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = size * (static_cast<float>(random() >> 40) * 0x1p-23f - 1);
  return values;
}

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
