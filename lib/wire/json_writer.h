#pragma once
// Appends compact JSON to a string. Keys are our own literals; values are escaped. No reader of the stream would
// take an integer beyond 2^53 (Error{data}: sums and products of accepted input reach it) or a non-finite double (our
// bug, AFORE_CHECK).
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace afore::wire {

// `key` is for the error message.
void append_integer(std::string& out, std::int64_t value, std::string_view key = {});
// Shortest form that reads back as the same double; whole numbers keep ".0" (12.0).
void append_double(std::string& out, double value);
// With quotes. Bytes that are not UTF-8 become U+FFFD, as no reader would take them.
void append_string(std::string& out, std::string_view text);

// Writes at `at`, at most kIntegerBytes, and returns the end; the same limits. append_pieces() makes room for it.
inline constexpr std::size_t kIntegerBytes = 20;
char* write_long_integer(char* at, std::int64_t value, std::string_view key);
struct ShortInteger {
  char text[4];  // up to three digits, and how many
};
extern const std::array<ShortInteger, 1000> kShortIntegers;
inline char* write_integer(char* at, std::int64_t value, std::string_view key = {}) {
  if (static_cast<std::uint64_t>(value) >= kShortIntegers.size()) return write_long_integer(at, value, key);
  const ShortInteger& digits = kShortIntegers[static_cast<std::size_t>(value)];
  std::memcpy(at, digits.text, sizeof digits.text);
  return at + digits.text[3];
}

// Appends `count` pieces of up to kPieceBytes, each written by write(i, at), which returns its end: the string is asked
// for room once per many of them.
template <std::size_t kPieceBytes, class Write>
void append_pieces(std::string& out, std::size_t count, Write&& write) {
  constexpr std::size_t kAtOnce = 64;
  for (std::size_t i = 0; i < count;) {
    const std::size_t size = out.size(), end = std::min(count, i + kAtOnce);
    out.resize(size + (end - i) * kPieceBytes);
    char* at = out.data() + size;
    for (; i < end; ++i) at = write(i, at);
    out.resize(static_cast<std::size_t>(at - out.data()));
  }
}

// Length of the well-formed UTF-8 sequence at the start of `text`, which is not empty; 0 when there is none (RFC 3629:
// no surrogates, nothing overlong, nothing beyond U+10FFFF).
std::size_t utf8_length(std::string_view text);

// Commas place themselves: one stands before every key or item that does not directly follow an opening bracket.
class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out) {}

  void key(std::string_view name);
  void open(char bracket) { out_ += bracket; }
  void close(char bracket) { out_ += bracket; }
  void separate() {
    if (out_.back() != '[' && out_.back() != '{') out_ += ',';
  }

  void integer(std::string_view name, std::int64_t value) {
    key(name);
    append_integer(out_, value, name);
  }
  void string(std::string_view name, std::string_view value) {
    key(name);
    append_string(out_, value);
  }
  void boolean(std::string_view name, bool value) {
    key(name);
    out_ += value ? "true" : "false";
  }
  void real(std::string_view name, double value) {
    key(name);
    append_double(out_, value);
  }
  void real_or_null(std::string_view name, const std::optional<double>& value);
  void integer_or_null(std::string_view name, const std::optional<std::int64_t>& value);
  void string_or_null(std::string_view name, std::string_view value);  // empty = null

  template <class Integers>
  void integers(std::string_view name, const Integers& values) {
    key(name);
    items(values, name);
  }
  template <class Integers>
  void items(const Integers& values, std::string_view name = {}) {
    out_ += '[';
    append_pieces<kIntegerBytes + 1>(out_, std::size(values), [&](std::size_t i, char* at) {
      if (i > 0) *at++ = ',';
      return write_integer(at, values[i], name);
    });
    out_ += ']';
  }
  template <class Strings>
  void strings(std::string_view name, const Strings& values) {
    key(name);
    out_ += '[';
    for (const auto& value : values) {
      separate();
      append_string(out_, value);
    }
    out_ += ']';
  }
  std::string& out() { return out_; }

 private:
  std::string& out_;
};

}  // namespace afore::wire
