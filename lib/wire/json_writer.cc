#include "wire/json_writer.h"

#include <charconv>
#include <cmath>

#include "util/error.h"
#include "wire/json_tree.h"

namespace afore::wire {
namespace {

void append_escape(std::string& out, char c) {
  switch (c) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default: break;
  }
  static constexpr char kHex[] = "0123456789abcdef";
  out += "\\u00";
  out += kHex[static_cast<unsigned char>(c) >> 4];
  out += kHex[static_cast<unsigned char>(c) & 15];
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned>(static_cast<unsigned char>(text[i])); };
  const unsigned lead = byte(0);
  const std::size_t size = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  if (size == 0 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i)
    if ((byte(i) & 0xC0u) != 0x80) return 0;
  if (size >= 3) {
    const unsigned second = byte(1);
    if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) || (lead == 0xF0 && second < 0x90) ||
        (lead == 0xF4 && second > 0x8F))
      return 0;
  }
  return size;
}

char* write_long_integer(char* at, std::int64_t value, std::string_view key) {
  if (value > kMaxInteger || value < -kMaxInteger)
    throw Error(ErrorKind::data,
                "a value computed from the input is beyond 2^53" + (key.empty() ? "" : " (" + std::string(key) + ")"),
                "check the sizes, counts and costs of the input: records carry integers up to 2^53");
  return std::to_chars(at, at + kIntegerBytes, value).ptr;
}

void append_integer(std::string& out, std::int64_t value, std::string_view key) {
  char digits[kIntegerBytes];
  out.append(digits, write_integer(digits, value, key));
}

constexpr std::array<ShortInteger, 1000> kShortIntegers = [] {
  std::array<ShortInteger, 1000> all{};
  for (std::size_t value = 0; value < all.size(); ++value) {
    char* const text = all[value].text;
    std::size_t size = 0;
    if (value >= 100) text[size++] = static_cast<char>('0' + value / 100);
    if (value >= 10) text[size++] = static_cast<char>('0' + value / 10 % 10);
    text[size++] = static_cast<char>('0' + value % 10);
    text[3] = static_cast<char>(size);
  }
  return all;
}();

void append_double(std::string& out, double value) {
  AFORE_CHECK(std::isfinite(value), "a non-finite number was to be written");
  char digits[40];
  const auto [end, ec] = std::to_chars(digits, digits + sizeof digits, value);
  const std::string_view text(digits, static_cast<std::size_t>(end - digits));
  out += text;
  if (text.find_first_of(".e") == std::string_view::npos) out += ".0";
}

void append_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const char c = text.front();
    if (static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\' || c == 0x7F) {
      append_escape(out, c);
      text.remove_prefix(1);
    } else if (const std::size_t size = utf8_length(text); size > 0) {
      out += text.substr(0, size);
      text.remove_prefix(size);
    } else {
      out += "\xEF\xBF\xBD";
      text.remove_prefix(1);
    }
  }
  out += '"';
}

void JsonWriter::key(std::string_view name) {
  separate();
  // One append for short keys, of which a plan has thirty.
  char text[64];
  if (name.size() > sizeof text - 3) {
    out_ += '"';
    out_ += name;
    out_ += "\":";
    return;
  }
  text[0] = '"';
  std::memcpy(text + 1, name.data(), name.size());
  std::memcpy(text + 1 + name.size(), "\":", 2);
  out_.append(text, name.size() + 3);
}

void JsonWriter::real_or_null(std::string_view name, const std::optional<double>& value) {
  key(name);
  if (value) append_double(out_, *value);
  else out_ += "null";
}

void JsonWriter::integer_or_null(std::string_view name, const std::optional<std::int64_t>& value) {
  key(name);
  if (value) append_integer(out_, *value, name);
  else out_ += "null";
}

void JsonWriter::string_or_null(std::string_view name, std::string_view value) {
  key(name);
  if (value.empty()) out_ += "null";
  else append_string(out_, value);
}

}  // namespace afore::wire
