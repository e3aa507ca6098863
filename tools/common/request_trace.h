#pragma once
// Public traces of requests, Azure's CSV and Mooncake's JSON lines: the part of one that a run asks for.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "wire/wire.h"

namespace afore::cli {

enum class TraceForm { azure_csv, mooncake };
// By the file's name: .csv is Azure's.
TraceForm trace_form(const std::string& path);

struct TraceChoice {
  std::optional<double> start_s, window_s;  // from the trace's first request on; absent: from there, to the end
  std::int64_t requests = 0;                // so many at most; 0: all
  std::optional<double> rate_scale;         // they come so many times as fast
};

// In the order of their arrival, times counted from the first chosen request. May be empty. Error{data} naming the line
// of what is no request, or arrives before the one above it.
std::vector<wire::TracedRequest> load_request_trace(const std::string& path, TraceForm form, const TraceChoice& choice);

}  // namespace afore::cli
