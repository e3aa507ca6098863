#include "common/worker_traits.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "common/parse.h"
#include "util/error.h"

namespace afore::cli {
namespace {

const char* const kHint = "as 3:slow=1.5,link=0.5,drain";

[[noreturn]] void refuse(const std::string& spec, const std::string& fact) {
  throw Error(ErrorKind::usage, fmt::format("--worker: \"{}\": {}", spec, fact), kHint);
}

template <class Number>
bool parse(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

double factor(const std::string& spec, std::string_view name, std::string_view text, double least, double most) {
  double value = 0;
  if (!parse(text, value)) refuse(spec, fmt::format("{} is no number: \"{}\"", name, text));
  if (!(value >= least && value <= most)) refuse(spec, fmt::format("{} must be from {} to {}", name, least, most));
  return value;
}

void read_item(const std::string& spec, std::string_view item, WorkerTraits& traits) {
  const std::size_t equals = item.find('=');
  const std::string_view name = item.substr(0, equals);
  const std::string_view value = equals == std::string_view::npos ? "" : item.substr(equals + 1);
  if (name == "slow" && equals != std::string_view::npos)
    traits.slowdown_permille = std::llround(factor(spec, name, value, 0.1, 100) * 1000);
  else if (name == "link" && equals != std::string_view::npos)
    traits.copy_slowdown_permille = std::llround(1000 / factor(spec, name, value, 0.01, 10));
  else if (item == "drain") traits.draining = true;
  else refuse(spec, fmt::format("\"{}\" is none of slow=FACTOR, link=SHARE and drain", item));
}

}  // namespace

std::vector<WorkerTraits> parse_worker_traits(const std::vector<std::string>& specs, std::int64_t workers) {
  std::vector<WorkerTraits> all(specs.empty() ? 0 : static_cast<std::size_t>(workers));
  std::vector<bool> seen(all.size(), false);
  for (const std::string& spec : specs) {
    const std::size_t colon = spec.find(':');
    std::int64_t worker = 0;
    if (!parse(std::string_view(spec).substr(0, colon), worker) || worker < 0)
      refuse(spec, "it does not start with the number of a worker");
    if (worker >= workers) refuse(spec, fmt::format("there is no worker {}, of {} counted from 0", worker, workers));
    if (colon == std::string::npos || colon + 1 == spec.size()) refuse(spec, "it says nothing of the worker");
    if (seen[worker]) refuse(spec, fmt::format("worker {} was given before", worker));
    seen[worker] = true;
    std::string_view rest = std::string_view(spec).substr(colon + 1);
    for (bool more = true; more;) {
      const std::size_t comma = rest.find(',');
      read_item(spec, rest.substr(0, comma), all[worker]);
      more = comma != std::string_view::npos;
      if (more) rest.remove_prefix(comma + 1);
    }
  }
  const bool any = std::any_of(all.begin(), all.end(), [](const WorkerTraits& t) { return t != WorkerTraits{}; });
  if (!any) return {};
  if (std::all_of(all.begin(), all.end(), [](const WorkerTraits& t) { return t.draining; }))
    throw Error(ErrorKind::usage, "--worker: every worker drains", "leave one that work can go to");
  return all;
}

std::vector<int> parse_pinned(const std::string& list, std::int64_t experts) {
  if (list.empty()) return {};
  std::vector<int> pinned = parse_int_list(list, "--pin-experts");
  if (experts != kAbsent && pinned.back() >= experts)
    throw Error(ErrorKind::usage,
                fmt::format("--pin-experts: there is no expert {}, of {} counted from 0", pinned.back(), experts),
                "lists look like 3,5,10-20");
  return pinned;
}

}  // namespace afore::cli
