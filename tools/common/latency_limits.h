#pragma once
// Limits of latencies as flags spell them: "ttft:500 itl:50", in ms.
#include <optional>
#include <string>
#include <vector>

namespace afore::cli {

struct LatencyLimit {
  const char* name;           // ttft
  std::optional<double>* ms;  // where it goes; the caller's
};

// Words NAME:MS of these names, each at most once, above 0 and up to 10^9 ms; as one argument or several. Error{usage}
// naming the flag.
void parse_limits(const std::vector<std::string>& texts, const std::string& flag,
                  const std::vector<LatencyLimit>& limits);

}  // namespace afore::cli
