#include "report/markup.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace afore::report {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

bool continues(unsigned char c) { return (c & 0xc0) == 0x80; }

// Bytes of the character at the start of `text`, 0 where there is none that XML 1.0 may hold (section 2.2, "Char").
std::size_t character_bytes(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = at(0);
  if (first < 0x80) return first >= 0x20 || first == '\t' || first == '\n' || first == '\r' ? 1 : 0;
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i)
    if (!continues(at(i))) return 0;
  // Overlong forms, surrogates, and beyond U+10FFFF.
  if (first == 0xe0 && at(1) < 0xa0) return 0;
  if (first == 0xed && at(1) >= 0xa0) return 0;
  if (first == 0xf0 && at(1) < 0x90) return 0;
  if (first == 0xf4 && at(1) >= 0x90) return 0;
  if (first == 0xef && at(1) == 0xbf && at(2) >= 0xbe) return 0;
  return size;
}

void append_escaped(std::string& out, std::string_view character) {
  switch (character[0]) {
    case '&': out += "&amp;"; break;
    case '<': out += "&lt;"; break;
    case '>': out += "&gt;"; break;
    case '"': out += "&quot;"; break;
    case '\'': out += "&#39;"; break;
    default: out += character;
  }
}

}  // namespace

std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t size = character_bytes(text);
    if (size == 0) out += kReplacement;
    else append_escaped(out, text.substr(0, size));
    text.remove_prefix(std::max<std::size_t>(1, size));
  }
  return out;
}

std::size_t text_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !continues(static_cast<unsigned char>(c)); }));
}

std::string shorten(std::string_view text, std::size_t width) {
  if (text_width(text) <= width) return std::string(text);
  std::size_t characters = 0, bytes = 0;
  while (bytes < text.size()) {
    if (!continues(static_cast<unsigned char>(text[bytes])) && characters++ == width - 1) break;
    ++bytes;
  }
  return std::string(text.substr(0, bytes)) + "…";
}

void append_coordinate(std::string& out, double value) {
  const std::size_t begin = out.size();
  fmt::format_to(std::back_inserter(out), "{:.1f}", value);
  if (out.ends_with(".0")) out.resize(out.size() - 2);
  if (std::string_view(out).substr(begin) == "-0") out.replace(begin, 2, "0");
}

std::string coordinate(double value) {
  std::string out;
  append_coordinate(out, value);
  return out;
}

}  // namespace afore::report
