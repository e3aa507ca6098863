// `afore-trace stat`: how skewed and how steady a stream's demand is.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>

#include "charset.h"
#include "commands.h"
#include "common/cli.h"
#include "common/record_stream.h"
#include "json_object.h"
#include "report/table.h"
#include "request_stat.h"
#include "trace/statistics.h"
#include "util/error.h"
#include "util/line_io.h"

namespace afore::cli {
namespace {

constexpr std::size_t kShownExperts = 3;
constexpr std::size_t kBarWidth = 32;
constexpr std::int64_t kDefaultWorkers = 8, kDefaultHot = 8;

struct StatOptions {
  std::string file = "-", format = "table", recover = "tail";
  std::int64_t workers = 0, hot = 0, top_k = 0;  // 0 = not given
  bool include_warmup = false;
};

struct Result {
  trace::Statistics statistics;
  std::int64_t workers, hot;
  std::int64_t warmup_targets = 0;  // left out
  RequestStatistics requests;
};

std::int64_t pick(std::int64_t flag, std::int64_t from_header, std::int64_t otherwise) {
  if (flag > 0) return flag;
  return from_header > 0 ? from_header : otherwise;
}

// The sizes of the statistics come from the header, which precedes all demand.
Result make_result(const StatOptions& o, const std::optional<Header>& header) {
  const std::int64_t workers = pick(o.workers, header ? header->cluster.ffn_workers : kAbsent, kDefaultWorkers);
  const std::int64_t hot = pick(o.hot, header ? header->model.top_k : kAbsent, kDefaultHot);
  return {trace::Statistics(static_cast<int>(workers), static_cast<int>(hot)), workers, hot, 0, {}};
}

Result collect(const StatOptions& o) {
  RecordStream in(o.file, read_options(o.top_k, true), recover_of(o.recover), Progress::Output::at_end);
  std::optional<Result> result;
  while (in.next()) {
    const Record& record = in.record();
    const auto* demand = std::get_if<Demand>(&record);
    const auto* request = std::get_if<RequestRecord>(&record);
    const auto* sequence = std::get_if<SequenceRecord>(&record);
    if (demand == nullptr && request == nullptr && sequence == nullptr) continue;
    if (!result) result = make_result(o, in.header());
    // A served stream has both; then its targets are what was really asked of the experts.
    const bool served = in.header() && in.header()->planner;
    if (request != nullptr) result->requests.add(*request);
    if (sequence != nullptr && !served) result->requests.add(*sequence, in.header()->model, result->statistics);
    if (demand == nullptr) continue;
    if (demand->phase == Phase::warmup && !o.include_warmup) ++result->warmup_targets;
    else result->statistics.add(demand->target, demand->tokens, demand->counts);
  }
  return result ? std::move(*result) : make_result(o, in.header());
}

std::vector<int> hottest(const std::vector<std::int64_t>& counts) {
  std::vector<int> order(counts.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return counts[a] > counts[b]; });
  order.resize(std::min(order.size(), kShownExperts));
  return order;
}

double share(const trace::LayerStatistics& layer, int expert) {
  const auto sum = std::accumulate(layer.counts.begin(), layer.counts.end(), std::int64_t{0});
  return sum == 0 ? 0 : static_cast<double>(layer.counts[expert]) / static_cast<double>(sum);
}

std::string hottest_text(const trace::LayerStatistics& layer) {
  std::string text;
  for (const int expert : hottest(layer.counts)) {
    if (!text.empty()) text += ' ';
    text += fmt::format("{}:{:.1f}%", expert, 100 * share(layer, expert));
  }
  return text;
}

std::string bars_of(const trace::LayerStatistics& layer) {
  const std::vector<double> values(layer.counts.begin(), layer.counts.end());
  if (values.empty()) return "";
  return report::bars(values, *std::max_element(values.begin(), values.end()), kBarWidth, locale_charset());
}

std::string or_dash(std::int64_t n, double value) { return n == 0 ? "-" : fmt::format("{:.3f}", value); }

std::vector<std::string> cells(const std::string& name, const trace::LayerStatistics& s, bool with_bars) {
  std::vector<std::string> row = {name,
                                  std::to_string(s.targets),
                                  std::to_string(s.tokens),
                                  or_dash(s.imbalance_targets, s.imbalance()),
                                  or_dash(s.imbalance_targets, s.balancedness()),
                                  or_dash(s.reuse_targets, s.reuse()),
                                  hottest_text(s)};
  if (with_bars) row.push_back(bars_of(s));
  return row;
}

report::Table make_table(const Result& result, bool with_bars) {
  using report::Align;
  std::vector<report::Table::Column> columns = {
      {"layer"}, {"targets"}, {"tokens"}, {"max/mean"}, {"balancedness"}, {"reuse"}, {"hottest", Align::left}};
  if (with_bars) columns.push_back({"load by expert", Align::left});
  report::Table table(columns);
  for (const trace::LayerStatistics& layer : result.statistics.layers())
    table.add_row(cells(std::to_string(layer.layer), layer, with_bars));
  table.add_rule();
  table.add_row(cells("all", result.statistics.total(), with_bars));
  return table;
}

JsonObject json_of(const trace::LayerStatistics& s) {
  JsonObject object;
  if (s.layer >= 0) object.add("layer", s.layer);
  object.add("targets", s.targets).add("tokens", s.tokens);
  const auto maybe = [&](const char* key, std::int64_t n, double value) {
    n == 0 ? object.add_raw(key, "null") : object.add(key, value);
  };
  maybe("max_over_mean", s.imbalance_targets, s.imbalance());
  maybe("balancedness", s.imbalance_targets, s.balancedness());
  maybe("reuse", s.reuse_targets, s.reuse());
  if (s.layer < 0) return object;
  std::string experts;
  for (const int expert : hottest(s.counts)) {
    if (!experts.empty()) experts += ',';
    experts += JsonObject().add("expert", expert).add("share", share(s, expert)).text();
  }
  return object.add_raw("hottest", "[" + experts + "]");
}

std::string json_text(const Result& result) {
  std::string layers;
  for (const trace::LayerStatistics& layer : result.statistics.layers()) {
    if (!layers.empty()) layers += ',';
    layers += json_of(layer).text();
  }
  JsonObject object;
  object.add("workers", result.workers)
      .add("hot", result.hot)
      .add("warmup_targets_left_out", result.warmup_targets)
      .add_raw("layers", "[" + layers + "]")
      .add_raw("total", json_of(result.statistics.total()).text());
  if (result.requests.any()) object.add_raw("requests", result.requests.json().text());
  return object.text() + "\n";
}

std::string notes(const Result& result) {
  std::string text = fmt::format(
      "max/mean over experts; balancedness over {} workers, initial placement; reuse of the top {} from step to step",
      result.workers, result.hot);
  if (result.warmup_targets > 0) text += fmt::format("; warm-up targets left out: {}", result.warmup_targets);
  text += "\n";
  if (result.requests.any()) text += result.requests.text();
  return text;
}

void run_stat(const StatOptions& o) {
  const Result result = collect(o);
  ByteWriter out("-");
  if (o.format == "json") {
    out.write(json_text(result));
  } else if (o.format == "tsv") {
    out.write(make_table(result, false).tsv());
  } else {
    out.write(make_table(result, true).aligned());
    out.write(notes(result));
  }
  out.finish();
}

}  // namespace

void add_stat(Command app) {
  Command sub = app.command("stat", "Imbalance, hot experts and step-to-step reuse of a stream, by layer");
  auto o = std::make_shared<StatOptions>();
  sub.option("FILE", o->file, "Stream, - is standard input").show_default();
  add_recover(sub, o->recover);
  sub.choice("--format", o->format, "Form of the output", {"table", "tsv", "json"});
  sub.flag(
      "--json", [o] { o->format = "json"; }, "The same as --format json: one object");
  sub.integer("--workers", o->workers, "FFN workers for balancedness (default: the header's, else 8)", 1, 1 << 20)
      .hide_default();
  sub.integer("--hot", o->hot, "Size of the hot set for reuse (default: the header's top_k, else 8)", 1, 1 << 20)
      .hide_default();
  sub.integer("--top-k", o->top_k, "Experts per token, for streams without a header", 1, 1024).hide_default();
  sub.flag("--include-warmup", o->include_warmup, "Count targets of phase warmup too");
  sub.examples({{"Of a stream as it comes",
                 "afore-trace synth --model gpt-oss-20b --steps 20 --tokens 512 |\n"
                 "  tee demand.jsonl | afore-trace stat"},
                {"The same numbers for a program", "afore-trace stat --json demand.jsonl > stat.json"}});
  sub.on_run([o, app] {
    refuse_terminal_stdin(o->file, app);
    run_stat(*o);
  });
}

}  // namespace afore::cli
