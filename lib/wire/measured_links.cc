#include <algorithm>

#include "wire/limits.h"
#include "wire/measured_rows.h"

namespace afore::wire {
namespace {

constexpr std::int64_t kMaxMessage = std::int64_t{1} << 50;
constexpr std::int64_t kMaxCount = 1 << 24;

}  // namespace

double time_at(const CsvTable& table, std::size_t row, std::size_t column, double unit_ns) {
  const double ns = table.number(row, column) * unit_ns;
  if (!(ns > 0)) table.fail(row, column, "a measured time must be above 0");
  if (!(ns <= static_cast<double>(kMaxTimeNs))) table.fail(row, column, "a measured time of over a second");
  return ns;
}

KeyColumns::KeyColumns(const CsvTable& table, std::initializer_list<std::string_view> measured_prefixes)
    : table_(table) {
  for (std::size_t c = 0; c < table.columns().size(); ++c) {
    const bool measured = std::any_of(measured_prefixes.begin(), measured_prefixes.end(),
                                      [&](std::string_view prefix) { return table.columns()[c].starts_with(prefix); });
    if (!measured) columns_.push_back(c);
  }
}

std::string KeyColumns::key(std::size_t row, std::size_t skip) const {
  std::string text;
  for (const std::size_t column : columns_)
    if (column != skip) text.append(table_.text(row, column)).push_back('|');
  return text;
}

// Bytes one GPU sends: (n - 1) / n of the message, twice that for an all-reduce (as nccl-tests' bus bandwidth counts).
// message_size counts elements: rows of half at n and of int8 at 2n have the same times (docs/metrics.md).
void read_nccl(const CsvTable& table, MeasuredTable& out) {
  const std::size_t op = table.column("op_name"), gpus = table.column("num_gpus"), dtype = table.column("nccl_dtype");
  const std::size_t message = table.column("message_size"), latency = table.column("latency");
  const KeyColumns keys(table, {"latency", "power", "device"});
  for (std::size_t r = 0; r < table.rows(); ++r) {
    MeasuredRow row;
    row.line = table.line(r);
    row.workers = table.integer(r, gpus, 2, kMaxCount);
    const std::string_view type = table.text(r, dtype);
    if (type != "half" && type != "int8") table.fail(r, dtype, "neither half nor int8");
    const std::string_view name = table.text(r, op);
    const double rounds = name == "all_reduce" ? 2 : 1;
    const double n = static_cast<double>(row.workers);
    row.size = static_cast<double>(table.integer(r, message, 1, kMaxMessage)) * (type == "half" ? 2 : 1) * rounds *
               (n - 1) / n;
    row.time_ns = time_at(table, r, latency, kMs);
    row.key = keys.key(r, kNoColumn);
    row.series = keys.key(r, message);
    row.group = out.device + "/nccl/" + std::string(name) + "/gpus=" + std::string(table.text(r, gpus));
    row.label = std::string(type) + " message_size=" + std::string(table.text(r, message));
    out.rows.push_back(std::move(row));
  }
}

// A rank sends one row per token and expert: dispatch in FP8 with a 4-byte scale per 128 values and 16 bytes beside it,
// combine in BF16. The table's bandwidth columns count the same bytes.
void read_deepep_links(const CsvTable& table, MeasuredTable& out) {
  const std::size_t hidden = table.column("hidden_size"), tokens = table.column("num_token");
  const std::size_t top_k = table.column("num_topk"), experts = table.column("num_experts");
  const std::size_t dispatch = table.column("dispatch_avg_t_us"), combine = table.column("combine_avg_t_us");
  const KeyColumns keys(table, {"dispatch_", "combine_", "device"});
  for (std::size_t r = 0; r < table.rows(); ++r) {
    const double h = static_cast<double>(table.integer(r, hidden, 1, kMaxCount));
    const double rows = static_cast<double>(table.integer(r, tokens, 1, kMaxCount)) *
                        static_cast<double>(table.integer(r, top_k, 1, kMaxCount));
    MeasuredRow row;
    row.line = table.line(r);
    row.workers = 0;
    for (const bool out_going : {true, false}) {
      const std::string name = out_going ? "dispatch" : "combine";
      row.size = rows * (out_going ? h + h / 32 + 16 : 2 * h);
      row.time_ns = time_at(table, r, out_going ? dispatch : combine, kUs);
      row.key = name + "|" + keys.key(r, kNoColumn);
      row.series = name + "|" + keys.key(r, tokens);
      row.group = out.device + "/deepep/" + name + "/hidden=" + std::string(table.text(r, hidden)) +
                  ",topk=" + std::string(table.text(r, top_k)) + ",experts=" + std::string(table.text(r, experts));
      row.label = "tokens=" + std::string(table.text(r, tokens));
      out.rows.push_back(row);
    }
  }
}

}  // namespace afore::wire
