#include "nn/byte_level.h"

#include <array>

namespace afore::nn {
namespace {

constexpr int kShifted = 68;  // bytes that do not stand for themselves
constexpr int kFirstShifted = 0x100;

constexpr bool stands_for_itself(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

// The bytes of the characters from U+0100 on.
constexpr std::array<unsigned char, kShifted> shifted_bytes() {
  std::array<unsigned char, kShifted> bytes{};
  std::size_t next = 0;
  for (int byte = 0; byte < 256; ++byte)
    if (!stands_for_itself(byte)) bytes[next++] = static_cast<unsigned char>(byte);
  return bytes;
}

constexpr std::array<unsigned char, kShifted> kShiftedBytes = shifted_bytes();

}  // namespace

std::optional<std::string> bytes_of_token(std::string_view token) {
  std::string bytes;
  bytes.reserve(token.size());
  for (std::size_t at = 0; at < token.size(); ++at) {
    int character = static_cast<unsigned char>(token[at]);
    if (character >= 0x80) {  // all that stand for bytes have two
      if (character < 0xC2 || character > 0xDF || at + 1 == token.size()) return std::nullopt;
      character = (character & 0x1F) << 6 | (token[++at] & 0x3F);
    }
    if (character < 0x100 && stands_for_itself(character)) bytes += static_cast<char>(character);
    else if (character >= kFirstShifted && character < kFirstShifted + kShifted)
      bytes += static_cast<char>(kShiftedBytes[static_cast<std::size_t>(character - kFirstShifted)]);
    else return std::nullopt;
  }
  return bytes;
}

std::string token_of_byte(unsigned char byte) {
  int character = byte;
  for (int i = 0; i < kShifted; ++i)
    if (kShiftedBytes[static_cast<std::size_t>(i)] == byte) character = kFirstShifted + i;
  if (character < 0x80) return {static_cast<char>(character)};
  return {static_cast<char>(0xC0 | character >> 6), static_cast<char>(0x80 | (character & 0x3F))};
}

}  // namespace afore::nn
