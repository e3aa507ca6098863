#include "nn/split_pattern.h"

#include <fmt/format.h>

#include "nn/ascii.h"

namespace afore::nn {
namespace {

// Unicode's White_Space, as Oniguruma has it; PCRE2's \s also takes U+180E.
constexpr std::string_view kSpace = "\\t-\\r \\x{85}\\p{Z}";

bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

class Translator {
 public:
  Translator(std::string_view pattern, const JsonView& place) : pattern_(pattern), place_(place) {}

  std::string translate() {
    while (!done()) {
      const char c = peek();
      if (c == '\\') escape(false);
      else if (c == '[') character_class();
      else if (c == '(') group();
      else if (c == '{') counted();
      else copy(1);
    }
    return std::move(out_);
  }

 private:
  bool done() const { return at_ >= pattern_.size(); }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < pattern_.size() ? pattern_[at_ + ahead] : '\0'; }
  bool looking_at(std::string_view text) const { return pattern_.substr(at_).starts_with(text); }

  void copy(std::size_t bytes) {
    out_ += pattern_.substr(at_, bytes);
    at_ += bytes;
  }
  void replace(std::size_t bytes, std::string_view by) {
    out_ += by;
    at_ += bytes;
  }
  [[noreturn]] void refuse(std::size_t bytes) const {
    place_.fail(fmt::format("{} is not understood in a regular expression", quote(pattern_.substr(at_, bytes))));
  }

  void escape(bool in_class) {
    const char c = peek(1);
    switch (c) {
      case 's': return replace(2, in_class ? kSpace : std::string("[").append(kSpace) + "]");
      case 'S': return in_class ? copy(2) : replace(2, std::string("[^").append(kSpace) + "]");
      case 'v': return replace(2, "\\x0b");  // in PCRE2 any vertical space
      case 'd':
      case 'D':
      case 'n':
      case 'r':
      case 't':
      case 'f':
      case 'a':
      case 'e': return copy(2);
      case 'p':
      case 'P': return property();
      case 'u': return code_point();
      default: break;
    }
    if (c == '\0' || is_letter(c) || is_digit(c)) refuse(2);  // \w, \b, \h, \R, \x, \1, ...: none is the same in both
    copy(2);
  }

  // \p{Lu} is the same in both; of longer names PCRE2 takes scripts by their extensions, and shall not.
  void property() {
    const std::size_t close = pattern_.find('}', at_);
    if (peek(2) != '{' || close == pattern_.npos) refuse(3);
    const std::string_view name = pattern_.substr(at_ + 3, close - at_ - 3);
    std::size_t letters = 0;
    while (letters < name.size() && (is_letter(name[letters]) || name[letters] == '_')) ++letters;
    if (name.empty() || letters != name.size()) refuse(close + 1 - at_);
    if (name.size() <= 2) return copy(close + 1 - at_);
    replace(close + 1 - at_, fmt::format("\\{}{{sc:{}}}", peek(1), name));
  }

  void code_point() {  // \uHHHH
    for (std::size_t i = 2; i < 6; ++i)
      if (!is_hex(peek(i))) refuse(6);
    replace(6, fmt::format("\\x{{{}}}", pattern_.substr(at_ + 2, 4)));
  }

  void character_class() {
    copy(peek(1) == '^' ? 2 : 1);
    if (peek() == ']') refuse(1);  // an empty class, or a bracket in it
    while (!done() && peek() != ']') {
      if (peek() == '\\') escape(true);
      else if (peek() == '[' || looking_at("&&")) refuse(2);  // a class in a class, an intersection
      else copy(1);
    }
    if (done()) place_.fail("a character class of the regular expression does not end");
    copy(1);
  }

  void group() {
    if (peek(1) == '*') refuse(2);
    if (peek(1) != '?') return copy(1);
    for (const std::string_view known : {"(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i:", "(?-i:"})
      if (looking_at(known)) return copy(known.size());
    refuse(4);
  }

  // {n}, {n,} or {n,m}. What may follow differs: {n,m}+ repeats in Ruby's syntax, and {n}? makes optional.
  void counted() {
    std::size_t size = 1;
    while (is_digit(peek(size)) || peek(size) == ',') ++size;
    const bool range = pattern_.substr(at_, size).find(',') != pattern_.npos;
    if (!is_digit(peek(1)) || peek(size) != '}') refuse(size + 1);
    ++size;
    if (peek(size) == '+' || (peek(size) == '?' && !range)) refuse(size + 1);
    copy(size);
  }

  std::string_view pattern_;
  const JsonView& place_;
  std::size_t at_ = 0;
  std::string out_;
};

}  // namespace

std::string to_pcre2(std::string_view pattern, const JsonView& place) { return Translator(pattern, place).translate(); }

std::string literal_pattern(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    const bool plain = is_letter(c) || is_digit(c) || static_cast<unsigned char>(c) >= 0x80;
    if (c == '\0') pattern += "\\x00";
    else if (plain) pattern += c;
    else pattern.append("\\").append(1, c);
  }
  return pattern;
}

}  // namespace afore::nn
