#include "afore-serve/compare_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "report/table.h"

namespace afore::serve {
namespace {

double gib(std::int64_t bytes) { return static_cast<double>(bytes) / (1024.0 * 1024 * 1024); }

std::string number(const std::optional<double>& value, int digits, double scale = 1) {
  return value ? fmt::format("{:.{}f}", *value * scale, digits) : "-";
}

// What a percent of throughput over `base` costs in copies.
std::string gib_per_percent(const Summary& s, const Summary& base) {
  if (!s.total_token_throughput || !base.total_token_throughput || s.copied_bytes == 0) return "-";
  const double percent = (*s.total_token_throughput / *base.total_token_throughput - 1) * 100;
  return percent > 0 ? fmt::format("{:.3f}", gib(s.copied_bytes) / percent) : "-";
}

std::string percent_more(const std::optional<double>& value, const std::optional<double>& base) {
  if (!value || !base || *base == 0) return "-";
  return fmt::format("{:+.1f}%", (*value / *base - 1) * 100);
}

}  // namespace

std::string tables(const std::vector<Summary>& rows, bool tiles) {
  using Align = report::Align;
  report::Table speed({{"policy", Align::left},
                       {"tokens/s"},
                       {"vs first"},
                       {"FFN us"},
                       {"vs first"},
                       {"exposed us"},
                       {"step ms"},
                       {"ITL p50 ms"},
                       {"ITL p95 ms"},
                       {tiles ? "tile gain captured" : "gain captured"}});
  report::Table balance({{"policy", Align::left},
                         {"tiles max/mean"},
                         {"tokens max/mean"},
                         {"tiles/bound"},
                         {"certified"},
                         {"copies/target"},
                         {"copied GiB"},
                         {"GiB per %"}});
  const Summary& first = rows.front();
  for (const Summary& s : rows) {
    const double targets = static_cast<double>(std::max<std::int64_t>(1, s.targets));
    speed.add_row({s.policy, number(s.total_token_throughput, 0),
                   percent_more(s.total_token_throughput, first.total_token_throughput), number(s.ffn_ns, 1, 1e-3),
                   percent_more(s.ffn_ns, first.ffn_ns), number(s.exposed_ns, 2, 1e-3), number(s.step_ns, 3, 1e-6),
                   number(s.itl.median, 3), number(s.itl.p95, 3),
                   number(tiles ? s.gain_captured_tiles : s.gain_captured, 3)});
    balance.add_row({s.policy, number(s.imbalance_tiles, 3), number(s.imbalance_tokens, 3),
                     number(s.load_over_bound, 3),
                     fmt::format("{:.1f}%", 100.0 * static_cast<double>(s.certified_targets) / targets),
                     fmt::format("{:.3f}", static_cast<double>(s.copies) / targets),
                     fmt::format("{:.2f}", gib(s.copied_bytes)), gib_per_percent(s, first)});
  }
  return speed.aligned() + "\n" + balance.aligned();
}

std::string request_table(const std::vector<Summary>& rows) {
  report::Table table({{"policy", report::Align::left},
                       {"requests/s"},
                       {"goodput/s"},
                       {"TTFT p50 ms"},
                       {"p99"},
                       {"TPOT p50 ms"},
                       {"p99"},
                       {"E2EL p50 ms"},
                       {"p99"},
                       {"complete"},
                       {"rejected"},
                       {"timed out"},
                       {"saturation", report::Align::left}});
  for (const Summary& s : rows)
    table.add_row({s.policy, number(s.request_throughput, 2), number(s.request_goodput, 2), number(s.ttft.median, 1),
                   number(s.ttft.p99, 1), number(s.tpot.median, 2), number(s.tpot.p99, 2), number(s.e2el.median, 0),
                   number(s.e2el.p99, 0), std::to_string(s.completed.value_or(0)),
                   std::to_string(s.rejected.value_or(0)), std::to_string(s.timed_out.value_or(0)), s.saturation});
  return table.aligned();
}

}  // namespace afore::serve
