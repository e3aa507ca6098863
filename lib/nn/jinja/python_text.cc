#include "nn/jinja/python_text.h"

#include <algorithm>

#include "nn/jinja/python_text_table.h"

namespace afore::nn::jinja {
namespace {

bool is_line_end(char32_t code) {
  return (code >= 10 && code <= 13) || (code >= 0x1C && code <= 0x1E) || code == 0x85 || code == 0x2028 ||
         code == 0x2029;
}

// The code point before `at`, which moves to its beginning.
char32_t previous_code_point(std::string_view text, std::size_t& at) {
  do --at;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80);
  std::size_t begin = at;
  return next_code_point(text, begin);
}

std::vector<std::string_view> split_at_spaces(std::string_view text, std::int64_t max) {
  std::vector<std::string_view> parts;
  for (text = strip(text, nullptr, true, false); !text.empty(); text = strip(text, nullptr, true, false)) {
    if (max >= 0 && static_cast<std::int64_t>(parts.size()) == max) {
      parts.push_back(strip_spaces_right(text));
      break;
    }
    std::size_t end = 0;
    for (std::size_t at = 0; at < text.size() && !is_space(next_code_point(text, at));) end = at;
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return parts;
}

std::vector<std::string_view> split_at_spaces_right(std::string_view text, std::int64_t max) {
  std::vector<std::string_view> parts;
  for (text = strip_spaces_right(text); !text.empty(); text = strip_spaces_right(text)) {
    if (max >= 0 && static_cast<std::int64_t>(parts.size()) == max) {
      parts.push_back(strip(text, nullptr, true, false));
      break;
    }
    std::size_t begin = text.size();
    for (std::size_t at = begin; at > 0 && !is_space(previous_code_point(text, at));) begin = at;
    parts.push_back(text.substr(begin));
    text.remove_suffix(text.size() - begin);
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

}  // namespace

std::size_t code_points(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

char32_t next_code_point(std::string_view text, std::size_t& at) {
  const auto lead = static_cast<unsigned char>(text[at++]);
  if (lead < 0x80) return lead;
  const int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
  char32_t code = lead & (0x3Fu >> more);
  for (int i = 0; i < more && at < text.size(); ++i) code = code << 6 | (static_cast<unsigned char>(text[at++]) & 0x3F);
  return code;
}

void append_code_point(std::string& text, char32_t code) {
  const auto put = [&text](char32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) return put(code);
  if (code < 0x800) put(0xC0 | code >> 6);
  else if (code < 0x10000) put(0xE0 | code >> 12), put(0x80 | (code >> 6 & 0x3F));
  else put(0xF0 | code >> 18), put(0x80 | (code >> 12 & 0x3F)), put(0x80 | (code >> 6 & 0x3F));
  put(0x80 | (code & 0x3F));
}

std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    next_code_point(text, at);
    parts.push_back(text.substr(begin, at - begin));
  }
  return parts;
}

bool is_space(char32_t code) {
  return (code >= 9 && code <= 13) || (code >= 28 && code <= 32) || code == 0x85 || code == 0xA0 || code == 0x1680 ||
         (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 || code == 0x202F || code == 0x205F ||
         code == 0x3000;
}

bool is_printable(char32_t code) { return !contains(unprintable_ranges, code); }

std::string_view strip(std::string_view text, const std::string* chars, bool left, bool right) {
  const auto goes = [chars](std::string_view character) {
    std::size_t at = 0;
    return chars == nullptr ? is_space(next_code_point(character, at)) : chars->find(character) != std::string::npos;
  };
  while (left && !text.empty()) {
    std::size_t end = 0;
    next_code_point(text, end);
    if (!goes(text.substr(0, end))) break;
    text.remove_prefix(end);
  }
  while (right && !text.empty()) {
    std::size_t begin = text.size();
    previous_code_point(text, begin);
    if (!goes(text.substr(begin))) break;
    text.remove_suffix(text.size() - begin);
  }
  return text;
}

std::string_view strip_spaces_right(std::string_view text) { return strip(text, nullptr, false, true); }

std::vector<std::string_view> split(std::string_view text, const std::string* separator, std::int64_t max) {
  if (separator == nullptr) return split_at_spaces(text, max);
  std::vector<std::string_view> parts;
  for (std::size_t found; max != 0 && (found = text.find(*separator)) != text.npos; --max) {
    parts.push_back(text.substr(0, found));
    text.remove_prefix(found + separator->size());
  }
  parts.push_back(text);
  return parts;
}

std::vector<std::string_view> split_right(std::string_view text, const std::string* separator, std::int64_t max) {
  if (separator == nullptr) return split_at_spaces_right(text, max);
  std::vector<std::string_view> parts;
  for (std::size_t found; max != 0 && (found = text.rfind(*separator)) != text.npos; --max) {
    parts.push_back(text.substr(found + separator->size()));
    text.remove_suffix(text.size() - found);
  }
  parts.push_back(text);
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends) {
  std::vector<std::string_view> lines;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = at;
    const char32_t code = next_code_point(text, at);
    if (!is_line_end(code)) continue;
    if (code == '\r' && at < text.size() && text[at] == '\n') ++at;
    lines.push_back(text.substr(begin, (keep_ends ? at : end) - begin));
    begin = at;
  }
  if (begin < text.size()) lines.push_back(text.substr(begin));
  return lines;
}

std::string replace(std::string_view text, std::string_view from, std::string_view to, std::int64_t max) {
  std::string result;
  if (from.empty()) {  // before each character, and at the end
    for (const std::string_view character : characters(text)) {
      if (max != 0) result += to, --max;
      result += character;
    }
    if (max != 0) result += to;
    return result;
  }
  for (std::size_t found; max != 0 && (found = text.find(from)) != text.npos; --max) {
    result += text.substr(0, found);
    result += to;
    text.remove_prefix(found + from.size());
  }
  return result += text;
}

std::size_t count(std::string_view text, std::string_view part) {
  if (part.empty()) return code_points(text) + 1;
  std::size_t times = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++times;
  return times;
}

}  // namespace afore::nn::jinja
