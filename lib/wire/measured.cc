#include "wire/measured.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "util/error.h"
#include "wire/measured_rows.h"

namespace afore::wire {
namespace {

constexpr std::array<std::string_view, 12> kDevices = {"a100", "a800", "b200", "b300", "gb200", "gb300",
                                                       "h100", "h20",  "h200", "h800", "l40s",  "mi300x"};

bool is_letter_or_digit(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

std::string base_name(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

std::string device_of_column(const CsvTable& table) {
  if (!table.has("device")) return "";
  const std::size_t column = table.column("device");
  std::string device;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string here = device_in(table.text(row, column));
    if (here.empty()) table.fail(row, column, "names no GPU that is known", "say which with --device");
    if (device.empty()) device = here;
    if (here != device) table.fail(row, column, "is " + here + ", where the rows above are " + device);
  }
  return device;
}

void refuse_two_devices(const CsvTable& table, const std::string& a, const std::string& where_a, const std::string& b,
                        const std::string& where_b) {
  if (a.empty() || b.empty() || a == b) return;
  throw Error(ErrorKind::data, table.name() + ": " + where_a + " says " + a + ", " + where_b + " says " + b,
              "one device's times under another's name are worth nothing: find out which it is");
}

std::string device_of(const CsvTable& table, const std::string& flag) {
  const std::string column = device_of_column(table), name = device_in(base_name(table.name()));
  refuse_two_devices(table, column, "its device column", name, "its name");
  refuse_two_devices(table, column, "its device column", flag, "--device");
  refuse_two_devices(table, name, "its name", flag, "--device");
  for (const std::string& device : {column, name, flag})
    if (!device.empty()) return device;
  throw Error(ErrorKind::data, table.name() + ": neither a device column nor the name says what was measured",
              "say it with --device");
}

TableForm form_of(const CsvTable& table) {
  if (table.has("time_stats.moe_grouped_gemm.median")) return TableForm::fused;
  if (table.has("dispatch_avg_t_us")) return TableForm::deepep;
  if (table.has("message_size")) return TableForm::nccl;
  if (table.has("moe_ep_size") && table.has("op_name") && table.rows() > 0) {
    const std::size_t column = table.column("op_name");
    const std::string_view op = table.text(0, column);
    for (std::size_t row = 1; row < table.rows(); ++row)
      if (table.text(row, column) != op) table.fail(row, column, "another operation than in the rows above");
    if (op == "moe_generation") return TableForm::generation;
    if (op == "moe_context") return TableForm::context;
    table.fail(0, column, "neither moe_generation nor moe_context");
  }
  throw Error(ErrorKind::data, table.name() + ": no known form of a measured table",
              "docs/metrics.md, \"fitted costs\", has the columns of each form");
}

}  // namespace

std::string device_in(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::string found;
  for (std::size_t at = 0; at < lower.size();) {
    std::size_t end = at;
    while (end < lower.size() && is_letter_or_digit(lower[end])) ++end;
    const std::string word = lower.substr(at, end - at);
    if (std::find(kDevices.begin(), kDevices.end(), word) != kDevices.end()) {
      if (!found.empty() && found != word) return "";
      found = word;
    }
    at = end + 1;
  }
  return found;
}

MeasuredTable read_measured(const CsvTable& table, const std::string& device) {
  MeasuredTable out;
  out.name = table.name();
  out.form = form_of(table);
  out.device = device_of(table, device);
  switch (out.form) {
    case TableForm::generation:
    case TableForm::context: read_deepep_moe(table, out); break;
    case TableForm::fused: read_fused_moe(table, out); break;
    case TableForm::nccl: read_nccl(table, out); break;
    case TableForm::deepep: read_deepep_links(table, out); break;
  }
  if (out.rows.empty()) throw Error(ErrorKind::data, table.name() + ": the table has no rows");
  return out;
}

}  // namespace afore::wire
