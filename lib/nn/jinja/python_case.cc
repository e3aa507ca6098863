// Python's upper, lower, title and capitalize: full case mappings, and the final sigma.
#include <algorithm>

#include "nn/jinja/python_text.h"
#include "nn/jinja/python_text_table.h"

namespace afore::nn::jinja {
namespace {

constexpr char32_t kCapitalSigma = 0x3A3, kSigma = 0x3C3, kFinalSigma = 0x3C2;

void append_mapped(std::string& out, char32_t code, const CaseTable& table) {
  if (code < 0x80) {
    const bool upper = code >= 'A' && code <= 'Z', lower = code >= 'a' && code <= 'z';
    out += static_cast<char>(&table == &lower_table ? (upper ? code + 32 : code) : (lower ? code - 32 : code));
    return;
  }
  const auto expansion = std::lower_bound(table.expansions.begin(), table.expansions.end(), code,
                                          [](const CaseExpansion& e, char32_t c) { return e.from < c; });
  if (expansion != table.expansions.end() && expansion->from == code) {
    for (const char32_t to : expansion->to)
      if (to != 0) append_code_point(out, to);
    return;
  }
  const auto shift = std::lower_bound(table.shifts.begin(), table.shifts.end(), code,
                                      [](const CaseShift& s, char32_t c) { return s.last < c; });
  const bool shifts = shift != table.shifts.end() && code >= shift->first && (code - shift->first) % shift->step == 0;
  append_code_point(out, shifts ? code + static_cast<char32_t>(shift->by) : code);
}

std::u32string decoded(std::string_view text) {
  std::u32string codes;
  for (std::size_t at = 0; at < text.size();) codes += next_code_point(text, at);
  return codes;
}

// A sigma is final behind a letter and before none, both looked for past what has no part in case.
bool is_final_sigma(const std::u32string& codes, std::size_t at) {
  std::size_t before = at, after = at + 1;
  while (before > 0 && contains(case_ignorable_ranges, codes[before - 1])) --before;
  if (before == 0 || !contains(cased_ranges, codes[before - 1])) return false;
  while (after < codes.size() && contains(case_ignorable_ranges, codes[after])) ++after;
  return after == codes.size() || !contains(cased_ranges, codes[after]);
}

void append_lower(std::string& out, const std::u32string& codes, std::size_t at) {
  if (codes[at] == kCapitalSigma) append_code_point(out, is_final_sigma(codes, at) ? kFinalSigma : kSigma);
  else append_mapped(out, codes[at], lower_table);
}

bool is_cased(char32_t code) {
  if (contains(cased_ranges, code)) return true;
  // What has a case of its own and no part in a final sigma.
  std::string itself, mapped;
  append_code_point(itself, code);
  append_mapped(mapped, code, lower_table);
  if (mapped != itself) return true;
  mapped.clear();
  append_mapped(mapped, code, title_table);
  return mapped != itself;
}

}  // namespace

std::string upper(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) append_mapped(out, next_code_point(text, at), upper_table);
  return out;
}

std::string lower(std::string_view text) {
  std::string out;
  const std::u32string codes = decoded(text);
  for (std::size_t i = 0; i < codes.size(); ++i) append_lower(out, codes, i);
  return out;
}

std::string capitalize(std::string_view text) {
  std::string out;
  const std::u32string codes = decoded(text);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (i == 0) append_mapped(out, codes[i], title_table);
    else append_lower(out, codes, i);
  }
  return out;
}

std::string title(std::string_view text) {
  std::string out;
  const std::u32string codes = decoded(text);
  bool in_word = false;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (in_word) append_lower(out, codes, i);
    else append_mapped(out, codes[i], title_table);
    in_word = is_cased(codes[i]);
  }
  return out;
}

std::string title_words(std::string_view text) {
  const auto parts_words = [](char32_t code) {
    return is_space(code) || code == '-' || code == '(' || code == '{' || code == '[' || code == '<';
  };
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const char32_t first = next_code_point(text, at);
    if (parts_words(first)) {
      out += text.substr(begin, at - begin);
      continue;
    }
    std::size_t end = at;
    for (std::size_t look = at; look < text.size() && !parts_words(next_code_point(text, look));) end = look;
    append_mapped(out, first, upper_table);
    out += lower(text.substr(at, end - at));
    at = end;
  }
  return out;
}

}  // namespace afore::nn::jinja
