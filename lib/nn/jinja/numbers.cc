#include "nn/jinja/numbers.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "nn/ascii.h"
#include "nn/jinja/python_text.h"

namespace afore::nn::jinja {
namespace {

// Without spaces around it and underscores between digits; nothing where an underscore stands elsewhere.
std::optional<std::string> plain(std::string_view text) {
  std::string digits;
  text = strip(text, nullptr, true, true);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') digits += text[i];
    else if (i == 0 || i + 1 == text.size() || !is_digit(text[i - 1]) || !is_digit(text[i + 1])) return std::nullopt;
  }
  return digits;
}

}  // namespace

std::optional<std::int64_t> parse_integer(Run& run, std::string_view text) {
  const std::optional<std::string> digits = plain(text);
  if (!digits || digits->empty()) return std::nullopt;
  const std::size_t sign = (*digits)[0] == '+' || (*digits)[0] == '-' ? 1 : 0;
  if (sign == digits->size() ||
      !std::all_of(digits->begin() + static_cast<std::ptrdiff_t>(sign), digits->end(), is_digit))
    return std::nullopt;
  std::int64_t value = 0;
  const char* begin = digits->data() + ((*digits)[0] == '+' ? 1 : 0);
  if (std::from_chars(begin, digits->data() + digits->size(), value).ec != std::errc())
    run.fail("an integer beyond 64 bits");
  return value;
}

std::optional<double> parse_float(std::string_view text) {
  std::optional<std::string> digits = plain(text);
  if (!digits) return std::nullopt;
  const bool negative = digits->starts_with('-');
  if (negative || digits->starts_with('+')) digits->erase(0, 1);
  std::string word = *digits;
  for (char& c : word) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  const double sign = negative ? -1 : 1;
  if (word == "inf" || word == "infinity") return sign * std::numeric_limits<double>::infinity();
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (word.empty() || !(is_digit(word[0]) || word[0] == '.')) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (end != word.data() + word.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) {
    const std::size_t exponent = word.find('e');
    const bool small = exponent != word.npos && word.compare(exponent + 1, 1, "-") == 0;
    return sign * (small ? 0.0 : std::numeric_limits<double>::infinity());
  }
  if (error != std::errc()) return std::nullopt;
  return sign * value;
}

Value replace_text(Run& run, std::string_view text, std::string_view from, std::string_view to, std::int64_t max) {
  run.charge_bytes(text.size());
  std::size_t times = count(text, from);
  if (max >= 0) times = std::min(times, static_cast<std::size_t>(max));
  run.charge(times);
  if (!to.empty() && times > kMaxTextBytes / to.size()) run.charge_bytes(kMaxTextBytes + 1);
  run.charge_bytes(text.size() + times * to.size());
  return run.text(replace(text, from, to, max));
}

}  // namespace afore::nn::jinja
