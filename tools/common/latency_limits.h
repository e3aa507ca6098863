#pragma once
// Limits of latencies as flags spell them, to be drawn as lines.
#include <string>
#include <vector>

#include "report/run_pictures.h"

namespace afore::cli {

// "ttft:500 itl:50", in ms: words of ttft, tpot and itl, each once. Error{usage}.
report::LatencyLimits parse_limits(const std::vector<std::string>& texts, const std::string& flag);

}  // namespace afore::cli
