#pragma once
// What tests of the CPU device share: the instruction sets of this machine, noise, bf16, and references in double.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "device/cpu/kernels.h"
#include "util/rng.h"

namespace afore::device::cpu {

inline std::vector<Isa> isas() {
  std::vector<Isa> found;
  for (const Isa isa : {Isa::scalar, Isa::avx2, Isa::avx512bf16})
    if (is_supported(isa)) found.push_back(isa);
  return found;
}

inline std::string name_of(const testing::TestParamInfo<Isa>& tested) { return to_string(tested.param); }

inline std::vector<float> noise(Rng& rng, std::int64_t count, double deviation = 1) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(deviation * rng.normal());
  return values;
}

inline std::uint16_t to_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
inline float from_bf16(std::uint16_t x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x) << 16); }

// Memory on a line of the cache, as packed weights must be.
struct Lines {
  explicit Lines(std::size_t bytes) : memory(bytes + 64) {
    std::size_t room = memory.size();
    void* at = memory.data();
    data = static_cast<std::byte*>(std::align(64, bytes, at, room));
  }
  std::vector<std::byte> memory;
  std::byte* data = nullptr;
};

// A matrix [n][k] as stored and as packed.
struct Matrix {
  Matrix(Rng& rng, std::int64_t rows, std::int64_t columns) : n(rows), k(columns), packed(packed_bytes(rows, columns)) {
    for (const float value : noise(rng, n * k, 1 / std::sqrt(static_cast<double>(k)))) stored.push_back(to_bf16(value));
    pack(stored, n, k, packed.data);
  }
  float at(std::int64_t row, std::int64_t column) const {
    return from_bf16(stored[static_cast<std::size_t>(row * k + column)]);
  }
  Packed view() const { return {n, k, packed.data}; }

  std::int64_t n, k;
  std::vector<std::uint16_t> stored;
  Lines packed;
};

// A sum of k products, and how far from it float32 may end: every activation loses at most 2^-17 of itself where it
// becomes two bf16 numbers (of 8 bits each, and a sign), and each of at most 2k additions rounds by 2^-24 of what is
// summed in size.
struct Bounded {
  double value = 0, size = 0, error = 0;

  void add(double x, double w, double x_error = 0) {
    value += x * w;
    size += std::abs(x * w);
    error += x_error * std::abs(w);
  }
  double tolerance(std::int64_t k) const {
    return error + size * (std::ldexp(1, -17) + 2 * static_cast<double>(k) * std::ldexp(1, -24)) + 1e-36;
  }
};

inline bool same_bits(const float* a, const float* b, std::int64_t n) {
  return std::memcmp(a, b, static_cast<std::size_t>(n) * sizeof(float)) == 0;
}

}  // namespace afore::device::cpu
