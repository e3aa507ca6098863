#include "nn/jinja/lexer.h"

#include <fmt/format.h>

#include <algorithm>

#include "nn/ascii.h"
#include "nn/jinja/python_text.h"
#include "nn/json.h"
#include "util/error.h"

namespace afore::nn::jinja {
namespace {

using Kind = Token::Kind;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// With line ends of one kind and without the last one, as Jinja reads a template.
std::string normalized(std::string_view text) {
  std::string lines;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') lines += text[i];
    else if (lines += '\n'; i + 1 < text.size() && text[i + 1] == '\n') ++i;
  }
  if (lines.ends_with('\n')) lines.pop_back();
  return lines;
}

class Lexer {
 public:
  Lexer(std::string text, const std::string& source) : text_(std::move(text)), source_(source) {}

  std::vector<Token> run() {
    while (at_ < text_.size()) data();
    add(Kind::end, "");
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void fail(const std::string& fact) {
    throw Error(ErrorKind::data, fmt::format("{}:{}: {}", source_, line(), fact));
  }

  int line() {
    line_ += static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(counted_),
                                         text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n'));
    counted_ = at_;
    return line_;
  }

  void add(Kind kind, std::string text) { tokens_.push_back({kind, std::move(text), line()}); }
  bool follows(std::string_view part) const { return std::string_view(text_).substr(at_).starts_with(part); }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  std::size_t behind_spaces(std::size_t from) const {
    while (from < text_.size()) {
      std::size_t next = from;
      if (!is_space(next_code_point(text_, next))) break;
      from = next;
    }
    return from;
  }

  // Text from `at_` to the `begin` of a tag, less what the tag's sign or lstrip_blocks takes.
  void add_data(std::size_t begin, char sign, bool strips_line) {
    std::string_view part = std::string_view(text_).substr(at_, begin - at_);
    const bool line_start = at_ == 0 || text_[at_ - 1] == '\n';
    const std::size_t last_line = part.rfind('\n') + 1;  // 0 without one
    if (sign == '-') part = strip_spaces_right(part);
    else if (sign != '+' && strips_line && (last_line > 0 || line_start) &&
             strip_spaces_right(part.substr(last_line)).empty())
      part = part.substr(0, last_line);
    if (!part.empty()) add(Kind::text, std::string(part));
  }

  std::size_t next_tag() const {
    std::size_t at = at_;
    while ((at = text_.find('{', at)) != text_.npos) {
      if (at + 1 < text_.size() && (text_[at + 1] == '{' || text_[at + 1] == '%' || text_[at + 1] == '#')) return at;
      ++at;
    }
    return text_.size();
  }

  void data() {
    const std::size_t tag = next_tag();
    if (tag == text_.size()) {
      add_data(tag, '+', false);
      at_ = tag;
      return;
    }
    const char kind = text_[tag + 1];
    char sign = tag + 2 < text_.size() ? text_[tag + 2] : '\0';
    if (sign != '-' && sign != '+') sign = '\0';
    add_data(tag, sign, kind != '{');
    at_ = tag + 2 + (sign == '\0' ? 0 : 1);
    if (kind == '#') return comment();
    if (kind == '%' && raw()) return;
    add(kind == '{' ? Kind::print_begin : Kind::block_begin, "");
    inside(kind == '{');
  }

  // Behind the end of a tag at `end`, whose sign stands before it.
  void close(std::size_t end, char sign, bool trims_line) {
    at_ = end;
    if (sign == '-') at_ = behind_spaces(at_);
    else if (sign != '+' && trims_line && peek() == '\n') ++at_;
  }

  void comment() {
    const std::size_t end = text_.find("#}", at_);
    if (end == text_.npos) fail("a comment does not end");
    close(end + 2, end > at_ ? text_[end - 1] : '\0', true);
  }

  // At a block whose only word is `word`: its end's sign, and `at_` behind it.
  bool word_block(std::string_view word, char& sign, bool plus) {
    std::size_t at = behind_spaces(at_);
    if (!std::string_view(text_).substr(at).starts_with(word)) return false;
    at = behind_spaces(at + word.size());
    sign = at < text_.size() ? text_[at] : '\0';
    if (sign == '-' || (plus && sign == '+')) ++at;
    else sign = '\0';
    if (!std::string_view(text_).substr(at).starts_with("%}")) return false;
    at_ = at + 2;
    return true;
  }

  bool raw() {
    char sign = '\0';
    if (!word_block("raw", sign, false)) return false;
    close(at_, sign, false);
    const std::size_t begin = at_;
    for (std::size_t tag = text_.find("{%", at_); tag != text_.npos; tag = text_.find("{%", tag + 1)) {
      char front = tag + 2 < text_.size() ? text_[tag + 2] : '\0';
      if (front != '-' && front != '+') front = '\0';
      at_ = tag + 2 + (front == '\0' ? 0 : 1);
      if (!word_block("endraw", sign, true)) continue;
      const std::size_t behind = at_;
      at_ = begin;
      add_data(tag, front, true);
      close(behind, sign, true);
      return true;
    }
    at_ = begin;
    fail("raw does not end");
  }

  bool ends_tag(bool print) {
    const std::string_view end = print ? "}}" : "%}";
    const char sign = peek();
    const bool signed_end =
        (sign == '-' || (sign == '+' && !print)) && std::string_view(text_).substr(at_ + 1).starts_with(end);
    if (!signed_end && !follows(end)) return false;
    add(print ? Kind::print_end : Kind::block_end, "");
    close(at_ + (signed_end ? 3 : 2), signed_end ? sign : '\0', !print);
    return true;
  }

  void inside(bool print) {
    std::string open;  // brackets
    while (true) {
      at_ = behind_spaces(at_);
      if (at_ == text_.size())
        fail(print ? "an expression does not end: }} is missing" : "a block does not end: %} is missing");
      if (open.empty() && ends_tag(print)) return;
      const char c = peek();
      if (is_digit(c)) number();
      else if (is_letter(c)) word();
      else if (c == '\'' || c == '"') string(c);
      else sign(open);
    }
  }

  void word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    tokens_.push_back({Kind::name, text_.substr(begin, at_ - begin), line()});
  }

  void digits() {
    while (is_digit(peek()) || (peek() == '_' && is_digit(peek(1)))) ++at_;
  }

  void number() {
    const std::size_t begin = at_;
    if (peek() == '0' && std::string_view("xXoObB").find(peek(1)) != std::string_view::npos && peek(1) != '\0')
      fail("a number in another base than ten is not known");
    digits();
    const bool after_dot = begin > 0 && text_[begin - 1] == '.';
    const std::size_t whole = at_;
    if (!after_dot && peek() == '.' && is_digit(peek(1))) ++at_, digits();
    if (!after_dot && (peek() == 'e' || peek() == 'E')) {
      const std::size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
      if (is_digit(peek(1 + sign))) at_ += 1 + sign, digits();
    }
    std::string text = text_.substr(begin, at_ - begin);
    std::erase(text, '_');
    const bool integer = at_ == whole;
    if (integer && text.size() > 1 && text[0] == '0' && text.find_first_not_of('0') != text.npos)
      fail("an integer that begins with 0");
    add(integer ? Kind::integer : Kind::number, std::move(text));
  }

  void sign(std::string& open) {
    static constexpr std::string_view kTwo[] = {"==", "!=", ">=", "<=", "//", "**"};
    static constexpr std::string_view kOne = "+-*/%~[](){}<>=.:|,;";
    for (const std::string_view two : kTwo) {
      if (!follows(two)) continue;
      add(Kind::sign, std::string(two));
      at_ += 2;
      return;
    }
    const char c = peek();
    if (c == '\0' || kOne.find(c) == kOne.npos) {
      std::size_t end = at_;
      next_code_point(text_, end);
      fail(fmt::format("{} is not known in an expression", quote(text_.substr(at_, end - at_))));
    }
    if (c == '(' || c == '[' || c == '{') open += c == '(' ? ')' : c == '[' ? ']' : '}';
    if (c == ')' || c == ']' || c == '}') {
      if (open.empty() || open.back() != c) fail(fmt::format("an unexpected '{}'", c));
      open.pop_back();
    }
    add(Kind::sign, std::string(1, c));
    ++at_;
  }

  void string(char end) {
    const int begin_line = line();
    std::string value;
    for (++at_; peek() != end || at_ >= text_.size();) {
      if (at_ >= text_.size()) fail("a string does not end");
      if (peek() == '\\') escape(value);
      else value += text_[at_++];
    }
    ++at_;
    tokens_.push_back({Kind::string, std::move(value), begin_line});
  }

  // As in Python's literals; at the backslash.
  void escape(std::string& value) {
    static constexpr std::string_view kLetters = "abfnrtv\\'\"", kMeant = "\a\b\f\n\r\t\v\\'\"";
    const char c = peek(1);
    at_ += 2;
    if (at_ > text_.size()) fail("a string does not end");
    if (const std::size_t letter = kLetters.find(c); letter != kLetters.npos) value += kMeant[letter];
    else if (c == 'x') code(value, 2, 16);
    else if (c == 'u') code(value, 4, 16);
    else if (c == 'U') code(value, 8, 16);
    else if (c >= '0' && c <= '7') --at_, code(value, 3, 8);
    else if (c == 'N') fail("\\N in a string is not known");
    else if (c != '\n') value += '\\', value += c;  // a line end behind a backslash is none
  }

  void code(std::string& value, int most, char32_t base) {
    char32_t number = 0;
    int read = 0;
    for (; read < most; ++read) {
      const char c = peek();
      const int digit = is_digit(c)            ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : 99;
      if (digit >= static_cast<int>(base)) break;
      number = number * base + static_cast<char32_t>(digit);
      ++at_;
    }
    if (base == 16 && read < most) fail("a code point in a string is cut short");
    if (number > 0x10FFFF || (number >= 0xD800 && number < 0xE000)) fail("a code point in a string does not exist");
    append_code_point(value, number);
  }

  std::string text_;
  const std::string& source_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0, counted_ = 0;
  int line_ = 1;
};

}  // namespace

std::vector<Token> tokenize(std::string_view text, const std::string& source) {
  return Lexer(normalized(text), source).run();
}

}  // namespace afore::nn::jinja
