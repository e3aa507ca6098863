#include "common/latency_limits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <sstream>

#include "util/error.h"

namespace afore::cli {
namespace {

constexpr double kMostMs = 1e9;  // 11 days

std::optional<double>* find(const std::string& name, const std::vector<LatencyLimit>& limits) {
  for (const LatencyLimit& limit : limits)
    if (name == limit.name) return limit.ms;
  return nullptr;
}

[[noreturn]] void refuse(const std::string& word, const std::string& flag, const std::vector<LatencyLimit>& limits) {
  std::vector<std::string> forms;
  for (const LatencyLimit& limit : limits) forms.push_back(fmt::format("{}:MS", limit.name));
  throw Error(ErrorKind::usage, fmt::format("{}: \"{}\" is not a limit", flag, word),
              fmt::format("limits are {}, each once, as in {} \"{}:500 {}:50\"", fmt::join(forms, ", "), flag,
                          limits[0].name, limits[1].name));
}

}  // namespace

void parse_limits(const std::vector<std::string>& texts, const std::string& flag,
                  const std::vector<LatencyLimit>& limits) {
  for (const std::string& text : texts) {
    std::istringstream words(text);
    for (std::string word; words >> word;) {
      const auto colon = word.find(':');
      std::optional<double>* limit = find(word.substr(0, colon), limits);
      double ms = 0;
      const char* const end = word.data() + word.size();
      const auto read = std::from_chars(colon == std::string::npos ? end : word.data() + colon + 1, end, ms);
      if (limit == nullptr || *limit || read.ec != std::errc() || read.ptr != end || !(ms > 0 && ms <= kMostMs))
        refuse(word, flag, limits);
      *limit = ms;
    }
  }
}

}  // namespace afore::cli
