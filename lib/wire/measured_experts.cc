#include <charconv>
#include <cmath>

#include "wire/json_tree.h"
#include "wire/limits.h"
#include "wire/measured_rows.h"

namespace afore::wire {
namespace {

constexpr std::int64_t kMaxTokens = 1 << 26;
constexpr std::int64_t kMaxExperts = 4096;
constexpr std::string_view kPowerLaw = "power_law_";

void read_distribution(const CsvTable& table, std::size_t row, std::size_t column, ExpertLoad& load) {
  const std::string_view text = table.text(row, column);
  if (text == "uniform") return;
  load.kind = ExpertLoad::Kind::power_law;
  const std::string_view number = text.starts_with(kPowerLaw) ? text.substr(kPowerLaw.size()) : "";
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), load.alpha);
  if (number.empty() || error != std::errc{} || end != number.data() + number.size() || !(load.alpha > 0) ||
      load.alpha > 10 || load.alpha == 1)
    table.fail(row, column, in_quotes(text) + " is neither uniform nor power_law_A with 0 < A <= 10, A not 1");
}

double weight_bytes(const CsvTable& table, std::size_t row, std::size_t column) {
  const std::string_view text = table.text(row, column);
  for (const std::string_view one : {"fp8", "fp8_block", "FP8"})
    if (text == one) return 1;
  for (const std::string_view two : {"bf16", "BF16", "bfloat16", "half", "FP16"})
    if (text == two) return 2;
  table.fail(row, column, in_quotes(text) + " has no known size of a weight", "known: fp8, fp8_block, bf16, half");
}

std::string shape_text(const MeasuredRow& row) {
  return std::to_string(row.hidden) + "x" + std::to_string(row.intermediate);
}

}  // namespace

void read_deepep_moe(const CsvTable& table, MeasuredTable& out) {
  const std::size_t dtype = table.column("moe_dtype"), tokens = table.column("num_tokens");
  const std::size_t hidden = table.column("hidden_size"), inter = table.column("inter_size");
  const std::size_t top_k = table.column("topk"), experts = table.column("num_experts");
  const std::size_t tp = table.column("moe_tp_size"), ep = table.column("moe_ep_size");
  const std::size_t distribution = table.column("distribution"), latency = table.column("latency");
  const KeyColumns keys(table, {"latency", "power", "device"});
  for (std::size_t r = 0; r < table.rows(); ++r) {
    MeasuredRow row;
    row.line = table.line(r);
    row.hidden = table.integer(r, hidden, 1, kMaxWidth);
    row.intermediate = table.integer(r, inter, 1, kMaxWidth);
    if (table.integer(r, tp, 1, kMaxWidth) != 1) table.fail(r, tp, "only tables of whole experts are read");
    row.load.tokens = table.integer(r, tokens, 1, kMaxTokens);
    row.load.top_k = table.integer(r, top_k, 1, kMaxExperts);
    row.load.experts = table.integer(r, experts, 1, kMaxExperts);
    row.workers = table.integer(r, ep, 1, kMaxExperts);
    if (row.load.experts % row.workers != 0) table.fail(r, ep, "does not divide the number of experts");
    row.load.local_experts = row.load.experts / row.workers;
    read_distribution(table, r, distribution, row.load);
    row.weight_bytes = weight_bytes(table, r, dtype);
    row.size = static_cast<double>(row.load.tokens);
    row.time_ns = time_at(table, r, latency, kMs);
    row.key = keys.key(r, kNoColumn);
    row.series = keys.key(r, tokens);
    row.distribution = table.text(r, distribution);
    row.group = out.device + (out.form == TableForm::generation ? "/generation/" : "/context/") +
                std::string(table.text(r, dtype)) + "/" + shape_text(row);
    row.label =
        "ep=" + std::to_string(row.workers) + " tokens=" + std::to_string(row.load.tokens) + " " + row.distribution;
    out.rows.push_back(std::move(row));
  }
}

// Columns as Frontier's profiler writes them: loads are given by their statistics. Of a worker with TP ranks each
// computes its share of the intermediate width.
void read_fused_moe(const CsvTable& table, MeasuredTable& out) {
  const std::size_t time = table.column("time_stats.moe_grouped_gemm.median"), tokens = table.column("num_tokens");
  const std::size_t hidden = table.column("hidden_dim"), inter = table.column("expert_hidden_dim");
  const std::size_t top_k = table.column("router_topk"), experts = table.column("num_experts");
  const std::size_t local = table.column("num_experts_per_device"), ep = table.column("expert_parallel_size");
  const std::size_t tp = table.column("num_tensor_parallel_workers"), routed = table.column("total_routed_tokens");
  const std::size_t used = table.column("expert_utilization"), deviation = table.column("load_imbalance_cv");
  const std::size_t least = table.column("min_load_ratio"), most = table.column("max_load_ratio");
  const std::size_t dtype = table.column("profiling_precision");
  const KeyColumns keys(table, {"time_stats.", "device"});
  // Repeated rows differ in the loads drawn, so a series is what remains without any of them.
  const KeyColumns series(table, {"time_stats.", "device", "num_tokens", "total_routed_tokens", "tokens_",
                                  "expert_util", "min_load", "max_load", "load_"});
  for (std::size_t r = 0; r < table.rows(); ++r) {
    MeasuredRow row;
    row.line = table.line(r);
    const std::int64_t ranks = table.integer(r, tp, 1, kMaxWidth), width = table.integer(r, inter, 1, kMaxWidth);
    if (width % ranks != 0) table.fail(r, tp, "does not divide expert_hidden_dim");
    row.hidden = table.integer(r, hidden, 1, kMaxWidth);
    row.intermediate = width / ranks;
    row.workers = table.integer(r, ep, 1, kMaxExperts);
    row.weight_bytes = weight_bytes(table, r, dtype);
    ExpertLoad& load = row.load;
    load.kind = ExpertLoad::Kind::stated;
    load.tokens = table.integer(r, tokens, 1, kMaxTokens);
    load.top_k = table.integer(r, top_k, 1, kMaxExperts);
    load.experts = table.integer(r, experts, 1, kMaxExperts);
    load.local_experts = table.integer(r, local, 1, kMaxExperts);
    load.routed = table.integer(r, routed, 1, kMaxTokens);
    const double share = table.number(r, used);
    load.activated = std::llround(share * static_cast<double>(load.local_experts));
    if (!(share > 0 && share <= 1) || load.activated < 1 || load.activated > load.routed)
      table.fail(r, used, "is no share of experts that " + std::to_string(load.routed) + " assignments can reach");
    load.deviation = table.number(r, deviation);
    load.least = table.number(r, least);
    load.most = table.number(r, most);
    if (!(load.deviation >= 0)) table.fail(r, deviation, "a deviation cannot be negative");
    if (!(load.least >= 0 && load.least <= 1 && load.most >= 1))
      table.fail(r, most, "the least and largest load must lie on both sides of the mean");
    row.size = static_cast<double>(load.tokens);
    row.time_ns = time_at(table, r, time, kMs);
    row.key = keys.key(r, kNoColumn);
    row.series = series.key(r, kNoColumn);
    row.distribution = "stated";
    row.group = out.device + "/fused/" + std::string(table.text(r, dtype)) + "/" + shape_text(row);
    row.label = "ep=" + std::to_string(row.workers) + " tokens=" + std::to_string(load.tokens) +
                " activated=" + std::to_string(load.activated);
    out.rows.push_back(std::move(row));
  }
}

}  // namespace afore::wire
