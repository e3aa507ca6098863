#pragma once
// Appends compact JSON to a string. Keys are our own literals; values are escaped. No reader of the stream would
// take an integer beyond 2^53 (Error{data}: sums and products of accepted input reach it) or a non-finite double (our
// bug, AFORE_CHECK).
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace afore::wire {

// `key` is for the error message.
void append_integer(std::string& out, std::int64_t value, std::string_view key = {});
// Shortest form that reads back as the same double; whole numbers keep ".0" (12.0).
void append_double(std::string& out, double value);
// With quotes. Bytes that are not UTF-8 become U+FFFD, as no reader would take them.
void append_string(std::string& out, std::string_view text);

// Arrays of integers on their way to a string, which is asked for room once per block and not per digit. flush() hands
// over what is left.
class IntegerBlock {
 public:
  explicit IntegerBlock(std::string& out) : out_(out) {}

  // The limits and the error are those of append_integer().
  void integer(std::int64_t value, std::string_view key) {
    if (kBytes - size_ < kLongest) flush();
    if (value >= 0 && value < kShort) {
      std::memcpy(text_ + size_, kTexts[static_cast<std::size_t>(value)].bytes, 4);
      size_ += static_cast<std::size_t>(kTexts[static_cast<std::size_t>(value)].bytes[3]);
    } else {
      long_integer(value, key);
    }
  }
  void byte(char c) {
    if (size_ == kBytes) flush();
    text_[size_++] = c;
  }
  void flush() {
    out_.append(text_, size_);
    size_ = 0;
  }

 private:
  static constexpr std::size_t kBytes = 1024, kLongest = 24;
  static constexpr std::int64_t kShort = 1000;
  struct Text {
    char bytes[4];  // up to three digits, and how many
  };
  static const std::array<Text, kShort> kTexts;

  void long_integer(std::int64_t value, std::string_view key);

  std::string& out_;
  std::size_t size_ = 0;
  char text_[kBytes];
};

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
    IntegerBlock block(out_);
    block.byte('[');
    bool first = true;
    for (const auto value : values) {
      if (!std::exchange(first, false)) block.byte(',');
      block.integer(value, name);
    }
    block.byte(']');
    block.flush();
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
