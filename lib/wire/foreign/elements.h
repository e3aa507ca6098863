#pragma once
// Numbers as array files store them, read as integers: counts and ids are whole whatever dtype carries them.
#include <cstddef>
#include <cstdint>
#include <optional>

namespace afore::wire {

enum class Element : std::uint8_t { boolean, u8, i8, u16, i16, u32, i32, u64, i64, f16, bf16, f32, f64 };

std::size_t bytes_of(Element element);
const char* name_of(Element element);

// The whole number at `at`, which has bytes_of(element) bytes. Nothing for what is not one: a fraction, an infinity or
// NaN, a float beyond 2^53 (where floats skip integers), an unsigned integer beyond 2^63 - 1.
std::optional<std::int64_t> whole_number(const std::uint8_t* at, Element element, bool big_endian = false);

}  // namespace afore::wire
