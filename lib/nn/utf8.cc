#include "nn/utf8.h"

#include <cstdint>
#include <cstring>

namespace afore::nn {
namespace {

// What may follow a first byte: how many bytes, and the range of the first of them; the others are 80..BF.
struct Follow {
  std::uint8_t bytes, low, high;
};

Follow follow_of(unsigned char first) {
  if (first >= 0xC2 && first <= 0xDF) return {1, 0x80, 0xBF};
  if (first == 0xE0) return {2, 0xA0, 0xBF};
  if (first == 0xED) return {2, 0x80, 0x9F};  // no surrogates
  if (first >= 0xE1 && first <= 0xEF) return {2, 0x80, 0xBF};
  if (first == 0xF0) return {3, 0x90, 0xBF};
  if (first >= 0xF1 && first <= 0xF3) return {3, 0x80, 0xBF};
  if (first == 0xF4) return {3, 0x80, 0x8F};
  return {0, 0, 0};
}

}  // namespace

CodePoint scan_code_point(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return {CodePoint::Kind::whole, 1};
  const Follow follow = follow_of(byte(0));
  if (follow.bytes == 0) return {CodePoint::Kind::broken, 1};
  for (std::size_t i = 1; i <= follow.bytes; ++i) {
    if (i == text.size()) return {CodePoint::Kind::cut, i};
    const bool fits = i == 1 ? byte(i) >= follow.low && byte(i) <= follow.high : (byte(i) & 0xC0) == 0x80;
    if (!fits) return {CodePoint::Kind::broken, i};
  }
  return {CodePoint::Kind::whole, follow.bytes + std::size_t{1}};
}

std::size_t utf8_prefix(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    std::uint64_t eight = 0;
    if (at + 8 <= text.size() && (std::memcpy(&eight, text.data() + at, 8), (eight & 0x8080'8080'8080'8080u) == 0)) {
      at += 8;
      continue;
    }
    const CodePoint next = scan_code_point(text.substr(at));
    if (next.kind != CodePoint::Kind::whole) break;
    at += next.bytes;
  }
  return at;
}

void take_text(std::string& held, bool all, std::string& out) {
  std::size_t at = 0;
  while (at < held.size()) {
    const std::string_view rest = std::string_view(held).substr(at);
    const std::size_t good = utf8_prefix(rest);
    out.append(rest.substr(0, good));
    at += good;
    if (at == held.size()) break;
    const CodePoint next = scan_code_point(rest.substr(good));
    if (next.kind == CodePoint::Kind::cut && !all) break;
    out += "\uFFFD";
    at += next.bytes;
  }
  held.erase(0, at);
}

}  // namespace afore::nn
