#include "util/log/log_report.h"

#include <fmt/format.h>

namespace afore {
namespace {

std::string counted(std::int64_t count, const char* one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

}  // namespace

std::string describe_damage(const std::string& what, std::int64_t at, std::int64_t after_frame) {
  const std::string after = after_frame < 0 ? "before any frame" : fmt::format("after frame {}", after_frame);
  return fmt::format("the log is damaged at byte {}, {}: {}", at, after, what);
}

std::string describe_losses(const LogReport& report) {
  const std::string lost =
      fmt::format("{} and {} left out", counted(report.lost_bytes, "byte"), counted(report.lost_lines, "line"));
  if (report.corrupt()) {
    std::string text = describe_damage(report.damage, report.damage_at, report.damage_after);
    if (report.damaged_parts > 1) text += fmt::format(" ({} damaged parts in all)", report.damaged_parts);
    if (!report.ended) text += "; it has no end marker either";
    return text + "; " + lost;
  }
  if (!report.ended) {
    std::string text = "the log has no end marker, its writer was stopped or still writes";
    if (report.lost_bytes > 0) text += "; " + lost;
    return text;
  }
  return report.continued ? "the log goes on in its next segment, which was not read" : "";
}

}  // namespace afore
