#include "common/request_trace.h"

#include <fmt/core.h>

#include <cmath>

#include "util/error.h"
#include "util/line_io.h"
#include "wire/csv.h"

namespace afore::cli {
namespace {

std::vector<wire::TracedRequest> read_mooncake(const std::string& path) {
  LineReader lines(path);
  std::vector<wire::TracedRequest> requests;
  std::string_view line;
  while (lines.next(line)) {
    requests.push_back(wire::parse_mooncake_line(line, lines.name(), lines.line_number()));
    if (requests.size() > 1 && requests.back().at_ns < requests[requests.size() - 2].at_ns)
      throw Error(ErrorKind::data,
                  fmt::format("{}:{}: the request arrives before the one above it", lines.name(), lines.line_number()),
                  "sort the lines by timestamp");
  }
  return requests;
}

}  // namespace

TraceForm trace_form(const std::string& path) {
  return path.ends_with(".csv") ? TraceForm::azure_csv : TraceForm::mooncake;
}

std::vector<wire::TracedRequest> load_request_trace(const std::string& path, TraceForm form,
                                                    const TraceChoice& choice) {
  const std::vector<wire::TracedRequest> all =
      form == TraceForm::mooncake ? read_mooncake(path)
                                  : wire::parse_azure_csv(read_file_bytes(path, wire::kMaxCsvBytes), path);
  const double start_s = choice.start_s.value_or(0);
  std::vector<wire::TracedRequest> chosen;
  for (const wire::TracedRequest& request : all) {
    const double at_s = static_cast<double>(request.at_ns - all[0].at_ns) / 1e9;
    if (at_s < start_s || (choice.window_s && at_s >= start_s + *choice.window_s)) continue;
    if (choice.requests > 0 && static_cast<std::int64_t>(chosen.size()) == choice.requests) break;
    chosen.push_back(request);
  }
  if (chosen.empty()) return chosen;
  const Nanos first = chosen[0].at_ns;
  for (wire::TracedRequest& request : chosen) {
    const double at_ns = static_cast<double>(request.at_ns - first) / choice.rate_scale.value_or(1);
    if (!(at_ns < 9e15))
      throw Error(ErrorKind::data, fmt::format("{}: the requests arrive over more than 104 days", path),
                  "raise --rate-scale, or take fewer requests");
    request.at_ns = static_cast<Nanos>(std::llround(at_ns));
  }
  return chosen;
}

}  // namespace afore::cli
