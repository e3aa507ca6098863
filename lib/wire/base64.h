#pragma once
// Base64 (RFC 4648, section 4) in its one canonical form: padded, no line breaks, no stray bits.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace afore::wire {

void append_base64(std::string& out, std::span<const std::uint8_t> bytes);

// False when `text` is not the canonical form of any bytes; `bytes` is then unspecified.
bool decode_base64(std::string_view text, std::vector<std::uint8_t>& bytes);

}  // namespace afore::wire
