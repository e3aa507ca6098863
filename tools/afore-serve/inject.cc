#include "afore-serve/inject.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "util/error.h"

namespace afore::serve {
namespace {

constexpr double kMostSeconds = 1e6;

[[noreturn]] void refuse(std::string_view item) {
  throw Error(ErrorKind::usage, fmt::format("--inject {}: no such fault", item),
              "a list of hang-plan@S, hang-copy@S and fail-scheduler@S, S in seconds");
}

Nanos seconds_of(std::string_view text, std::string_view item) {
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || !(seconds >= 0 && seconds <= kMostSeconds))
    refuse(item);
  return static_cast<Nanos>(seconds * 1e9);
}

}  // namespace

host::ThreadFaults parse_inject(const std::string& text) {
  host::ThreadFaults faults;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    const std::size_t at = item.find('@');
    if (at == item.npos) refuse(item);
    const std::string_view name = item.substr(0, at);
    const Nanos after_ns = seconds_of(item.substr(at + 1), item);
    if (name == "hang-plan") faults.hang_plan_after_ns = after_ns;
    else if (name == "hang-copy") faults.hang_copy_after_ns = after_ns;
    else if (name == "fail-scheduler") faults.fail_scheduler_after_ns = after_ns;
    else refuse(item);
  }
  return faults;
}

}  // namespace afore::serve
