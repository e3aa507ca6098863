// Values of tensors, as bf16 or float32, each checked to be finite. IEEE 754 bit patterns: a value is not finite where
// all bits of its exponent are set.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "nn/bf16.h"
#include "nn/checkpoint.h"
#include "nn/json.h"
#include "util/error.h"

namespace afore::nn {
namespace {

constexpr std::uint32_t kF32Exponent = 0x7F80'0000;
constexpr std::size_t kChunk = 4096;  // elements: checked while they are in the cache

std::size_t bytes_of(Dtype dtype) { return dtype == Dtype::f32 ? 4 : 2; }

std::uint32_t f32_bits_of_f16(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000) << 16;
  const std::uint32_t exponent = half >> 10 & 31, mantissa = half & 0x3FF;
  // Subnormal: mantissa * 2^-24, which float32 holds as a normal number.
  const std::uint32_t small = std::bit_cast<std::uint32_t>(static_cast<float>(mantissa) * 0x1p-24f);
  const std::uint32_t normal = (exponent + 112) << 23 | mantissa << 13;
  const std::uint32_t infinite = kF32Exponent | mantissa << 13;
  return sign | (exponent == 0 ? small : exponent == 31 ? infinite : normal);
}

[[noreturn]] void fail_not_finite(const Tensor& tensor, std::int64_t element, std::uint32_t f32_bits) {
  const bool overflow = (f32_bits & kF32Exponent) != kF32Exponent;
  throw Error(ErrorKind::data, fmt::format("{}: tensor {}: element {} is {}", tensor.file, quote(tensor.name), element,
                                           overflow ? "beyond the range of bf16" : "not finite"));
}

// Float32 bits of the elements of `chunk`, from `bytes`.
void load_f32_bits(Dtype dtype, const std::byte* bytes, std::span<std::uint32_t> chunk) {
  if (dtype == Dtype::f32) {
    std::memcpy(chunk.data(), bytes, chunk.size_bytes());
    return;
  }
  std::uint16_t narrow[kChunk];
  std::memcpy(narrow, bytes, chunk.size() * 2);
  if (dtype == Dtype::bf16)
    for (std::size_t i = 0; i < chunk.size(); ++i) chunk[i] = static_cast<std::uint32_t>(narrow[i]) << 16;
  else
    for (std::size_t i = 0; i < chunk.size(); ++i) chunk[i] = f32_bits_of_f16(narrow[i]);
}

// Calls convert(chunk of float32 bits, place in the output), which returns whether all are finite; looks for the first
// that is not only when one is not.
template <class Convert>
void read(const Tensor& tensor, std::int64_t first, std::size_t count, std::uint32_t limit, Convert&& convert) {
  AFORE_CHECK(first >= 0 && static_cast<std::uint64_t>(first) + count <= static_cast<std::uint64_t>(tensor.count()),
              "elements of a tensor out of range");
  const std::byte* bytes = tensor.bytes.data() + static_cast<std::size_t>(first) * bytes_of(tensor.dtype);
  std::uint32_t bits[kChunk];
  for (std::size_t done = 0; done < count; done += kChunk) {
    const std::span<std::uint32_t> chunk(bits, std::min(kChunk, count - done));
    load_f32_bits(tensor.dtype, bytes + done * bytes_of(tensor.dtype), chunk);
    if (convert(chunk, done)) continue;
    const auto bad =
        std::find_if(chunk.begin(), chunk.end(), [&](std::uint32_t b) { return (b & 0x7FFF'FFFF) >= limit; });
    fail_not_finite(tensor, first + static_cast<std::int64_t>(done) + (bad - chunk.begin()), *bad);
  }
}

}  // namespace

void read_bf16(const Tensor& tensor, std::int64_t first, std::span<std::uint16_t> out) {
  // From here on a float32 rounds to infinity in bf16.
  constexpr std::uint32_t kLimit = 0x7F7F'8000;
  read(tensor, first, out.size(), kLimit, [&](std::span<const std::uint32_t> chunk, std::size_t place) {
    std::uint32_t bad = 0;
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      out[place + i] = round_to_bf16(chunk[i]);
      bad |= (chunk[i] & 0x7FFF'FFFF) >= kLimit ? 1u : 0u;
    }
    return bad == 0;
  });
}

void read_f32(const Tensor& tensor, std::int64_t first, std::span<float> out) {
  read(tensor, first, out.size(), kF32Exponent, [&](std::span<const std::uint32_t> chunk, std::size_t place) {
    std::uint32_t bad = 0;
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      out[place + i] = std::bit_cast<float>(chunk[i]);
      bad |= (chunk[i] & 0x7FFF'FFFF) >= kF32Exponent ? 1u : 0u;
    }
    return bad == 0;
  });
}

}  // namespace afore::nn
