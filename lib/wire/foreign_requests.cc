// Request traces of others: Azure's CSV and Mooncake's JSON lines.
#include <array>
#include <charconv>
#include <chrono>

#include "wire/csv.h"
#include "wire/json_tree.h"
#include "wire/wire.h"

namespace afore::wire {
namespace {

constexpr Nanos kNsPerMs = 1'000'000, kNsPerS = 1'000'000'000;
constexpr std::int64_t kMaxTimestampMs = std::int64_t{1} << 42;  // 139 years, 2^62 ns

// `text` as exactly `digits` digits, taken off its front; -1 when it does not begin with them.
int take_digits(std::string_view& text, std::size_t digits) {
  int value = -1;
  if (text.size() < digits) return -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + digits, value);
  if (error != std::errc() || end != text.data() + digits || text[0] == '-') return -1;
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, std::string_view expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

// "2023-11-16 18:17:03.9799600" with up to nine digits after the point, and "+00:00" behind them or not.
bool parse_timestamp(std::string_view text, Nanos& at_ns) {
  constexpr std::array<std::string_view, 6> kAfter = {"-", "-", " ", ":", ":", ""};
  std::array<int, 6> part{};  // year, month, day, hour, minute, second
  for (std::size_t i = 0; i < part.size(); ++i) {
    part[i] = take_digits(text, i == 0 ? 4 : 2);
    if (part[i] < 0 || !take(text, kAfter[i])) return false;
  }
  const std::chrono::year_month_day day{std::chrono::year(part[0]), std::chrono::month(static_cast<unsigned>(part[1])),
                                        std::chrono::day(static_cast<unsigned>(part[2]))};
  if (!day.ok() || part[0] < 1970 || part[0] > 2100 || part[3] > 23 || part[4] > 59 || part[5] > 59) return false;
  const Nanos days = std::chrono::sys_days(day).time_since_epoch().count();
  Nanos fraction = 0;
  if (take(text, ".")) {
    std::size_t digits = 0;
    for (; digits < text.size() && digits < 10 && text[digits] >= '0' && text[digits] <= '9'; ++digits)
      fraction = fraction * 10 + (text[digits] - '0');
    if (digits == 0 || digits > 9) return false;
    for (std::size_t i = digits; i < 9; ++i) fraction *= 10;
    text.remove_prefix(digits);
  }
  if (!text.empty() && text != "+00:00") return false;
  at_ns = ((days * 24 + part[3]) * 60 + part[4]) * 60 * kNsPerS + part[5] * kNsPerS + fraction;
  return true;
}

}  // namespace

std::vector<TracedRequest> parse_azure_csv(std::vector<std::uint8_t> bytes, const std::string& source_name) {
  const CsvTable table(std::move(bytes), source_name);
  const std::size_t time = table.column("TIMESTAMP"), prompt = table.column("ContextTokens"),
                    output = table.column("GeneratedTokens");
  std::vector<TracedRequest> requests(table.rows());
  for (std::size_t row = 0; row < table.rows(); ++row) {
    TracedRequest& request = requests[row];
    if (!parse_timestamp(table.text(row, time), request.at_ns))
      table.fail(row, time, "not a time", "times look like 2023-11-16 18:17:03.9799600");
    if (row > 0 && request.at_ns < requests[row - 1].at_ns)
      table.fail(row, time, "the request arrives before the one above it", "sort the rows by TIMESTAMP");
    request.prompt_tokens = table.integer(row, prompt, 1, kMaxRequestTokens);
    request.output_tokens = table.integer(row, output, 1, kMaxRequestTokens);
  }
  return requests;
}

TracedRequest parse_mooncake_line(std::string_view line, const std::string& source_name, std::int64_t line_number) {
  JsonTree tree;
  ObjectReader object(tree.parse(line, source_name, line_number));
  TracedRequest request;
  request.at_ns = object.required("timestamp").integral(0, kMaxTimestampMs, "timestamp") * kNsPerMs;
  request.prompt_tokens = object.required("input_length").integral(1, kMaxRequestTokens, "input_length");
  request.output_tokens = object.required("output_length").integral(1, kMaxRequestTokens, "output_length");
  return request;
}

}  // namespace afore::wire
