#include "common/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>
#include <string_view>
#include <system_error>

#include "util/error.h"

namespace afore::cli {

namespace {

constexpr int kMaxListValue = 1 << 20;

// The whole of `text` as a decimal integer.
bool parse_int(std::string_view text, std::int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; parts.empty() || begin < text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::int64_t parse_bytes(const std::string& text, const std::string& flag) {
  std::size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
  const std::string suffix = text.substr(digits);
  static const std::vector<std::vector<std::string>> kSuffixes = {
      {"", "B"}, {"K", "k", "KiB"}, {"M", "m", "MiB"}, {"G", "g", "GiB"}, {"T", "t", "TiB"}};
  const std::string hint = "sizes are whole numbers with B, KiB, MiB, GiB or TiB (K, M, G and T mean the same)";
  std::int64_t value = 0;
  if (!parse_int(std::string_view(text).substr(0, digits), value)) {
    throw Error(ErrorKind::usage, fmt::format("{}: \"{}\" is not a size", flag, text), hint);
  }
  for (std::size_t power = 0; power < kSuffixes.size(); ++power) {
    if (std::find(kSuffixes[power].begin(), kSuffixes[power].end(), suffix) == kSuffixes[power].end()) continue;
    const std::int64_t unit = std::int64_t{1} << (10 * power);
    if (value > std::numeric_limits<std::int64_t>::max() / unit) {
      throw Error(ErrorKind::usage, fmt::format("{}: the size \"{}\" is too large", flag, text), hint);
    }
    return value * unit;
  }
  throw Error(ErrorKind::usage, fmt::format("{}: \"{}\" is not a size: unknown suffix \"{}\"", flag, text, suffix),
              hint);
}

std::vector<int> parse_int_list(const std::string& text, const std::string& flag) {
  const std::string hint = "lists look like 3,5,10-20";
  std::set<int> values;
  for (const std::string& part : split(text, ',')) {
    const auto dash = part.find('-');
    const std::string_view low_text = std::string_view(part).substr(0, dash);
    const std::string_view high_text = dash == std::string::npos ? low_text : std::string_view(part).substr(dash + 1);
    std::int64_t low = 0, high = 0;
    if (!parse_int(low_text, low) || !parse_int(high_text, high) || low < 0) {
      throw Error(ErrorKind::usage, fmt::format("{}: \"{}\" is not a number or a range", flag, part), hint);
    }
    if (high < low) throw Error(ErrorKind::usage, fmt::format("{}: the range \"{}\" runs backwards", flag, part), hint);
    if (high > kMaxListValue) {
      throw Error(ErrorKind::usage, fmt::format("{}: {} is over {}", flag, high, kMaxListValue), hint);
    }
    for (std::int64_t value = low; value <= high; ++value) values.insert(static_cast<int>(value));
  }
  return {values.begin(), values.end()};
}

}  // namespace afore::cli
