#include "common/latency_limits.h"

#include <fmt/format.h>

#include <charconv>
#include <sstream>

#include "util/error.h"

namespace afore::cli {

report::LatencyLimits parse_limits(const std::vector<std::string>& texts, const std::string& flag) {
  constexpr double kMostMs = 1e9;
  report::LatencyLimits limits;
  for (const std::string& text : texts) {
    std::istringstream words(text);
    for (std::string word; words >> word;) {
      const auto colon = word.find(':');
      const std::string name = word.substr(0, colon);
      std::optional<double>* limit = name == "ttft"   ? &limits.ttft_ms
                                     : name == "tpot" ? &limits.tpot_ms
                                     : name == "itl"  ? &limits.itl_ms
                                                      : nullptr;
      double ms = 0;
      const char* const end = word.data() + word.size();
      const auto read = std::from_chars(colon == std::string::npos ? end : word.data() + colon + 1, end, ms);
      if (limit == nullptr || *limit || read.ec != std::errc() || read.ptr != end || !(ms > 0 && ms <= kMostMs))
        throw Error(ErrorKind::usage, fmt::format("{}: \"{}\" is not a limit", flag, word),
                    "limits are ttft:MS, tpot:MS and itl:MS, each once, like \"ttft:500 itl:50\"");
      *limit = ms;
    }
  }
  return limits;
}

}  // namespace afore::cli
