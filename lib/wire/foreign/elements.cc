#include "wire/foreign/elements.h"

#include <bit>
#include <cmath>

namespace afore::wire {
namespace {

std::uint64_t bits_at(const std::uint8_t* at, std::size_t bytes, bool big_endian) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < bytes; ++i) bits = bits << 8 | at[big_endian ? i : bytes - 1 - i];
  return bits;
}

// IEEE 754 binary16: 5 bits of exponent with bias 15, 10 of fraction.
double half_value(std::uint64_t bits) {
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const double fraction = static_cast<double>(bits & 1023);
  if (exponent == 31) return NAN;  // infinities count as no number either
  const double size = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return bits >> 15 ? -size : size;
}

std::optional<std::int64_t> whole(double value) {
  constexpr double kLimit = 9007199254740992.0;  // 2^53
  if (!(std::abs(value) <= kLimit) || value != std::trunc(value)) return {};
  return static_cast<std::int64_t>(value);
}

}  // namespace

std::size_t bytes_of(Element element) {
  switch (element) {
    case Element::boolean:
    case Element::u8:
    case Element::i8: return 1;
    case Element::u16:
    case Element::i16:
    case Element::f16:
    case Element::bf16: return 2;
    case Element::u32:
    case Element::i32:
    case Element::f32: return 4;
    case Element::u64:
    case Element::i64:
    case Element::f64: return 8;
  }
  return 0;
}

const char* name_of(Element element) {
  switch (element) {
    case Element::boolean: return "bool";
    case Element::u8: return "uint8";
    case Element::i8: return "int8";
    case Element::u16: return "uint16";
    case Element::i16: return "int16";
    case Element::u32: return "uint32";
    case Element::i32: return "int32";
    case Element::u64: return "uint64";
    case Element::i64: return "int64";
    case Element::f16: return "float16";
    case Element::bf16: return "bfloat16";
    case Element::f32: return "float32";
    case Element::f64: return "float64";
  }
  return "?";
}

std::optional<std::int64_t> whole_number(const std::uint8_t* at, Element element, bool big_endian) {
  const std::uint64_t bits = bits_at(at, bytes_of(element), big_endian);
  switch (element) {
    case Element::boolean: return bits != 0 ? 1 : 0;
    case Element::u8:
    case Element::u16:
    case Element::u32: return static_cast<std::int64_t>(bits);
    case Element::i8: return static_cast<std::int8_t>(bits);
    case Element::i16: return static_cast<std::int16_t>(bits);
    case Element::i32: return static_cast<std::int32_t>(bits);
    case Element::i64: return static_cast<std::int64_t>(bits);
    case Element::u64:
      if (bits > INT64_MAX) return {};
      return static_cast<std::int64_t>(bits);
    case Element::f16: return whole(half_value(bits));
    case Element::bf16: return whole(std::bit_cast<float>(static_cast<std::uint32_t>(bits << 16)));
    case Element::f32: return whole(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    case Element::f64: return whole(std::bit_cast<double>(bits));
  }
  return {};
}

}  // namespace afore::wire
