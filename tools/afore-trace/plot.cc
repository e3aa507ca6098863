// `afore-trace plot`: pictures of a stream (docs/pictures.md).
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commands.h"
#include "common/cli.h"
#include "common/latency_limits.h"
#include "common/parse.h"
#include "common/publish.h"
#include "common/record_stream.h"
#include "report/run_pictures.h"
#include "util/error.h"
#include "wire/chrome_trace.h"

namespace afore::cli {
namespace {

const char* const kPlotHint = "-o never overwrites: give another name";

struct PlotOptions {
  std::string view, file = "-", to, output = "-", recover = "tail", layers, window;
  std::vector<std::string> limits;
  std::int64_t step = kAbsent, workers = kAbsent, top_k = 0;
};

// "120:480", microseconds since the step began.
report::TimeWindow parse_window(const std::string& text) {
  std::int64_t from = 0, to = 0;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, from);
  const bool colon = first.ec == std::errc() && first.ptr != end && *first.ptr == ':';
  const auto second = std::from_chars(colon ? first.ptr + 1 : end, end, to);
  constexpr std::int64_t kMostUs = 1'000'000'000'000;
  if (!colon || second.ec != std::errc() || second.ptr != end || from < 0 || to <= from || to > kMostUs)
    throw Error(ErrorKind::usage, fmt::format("--window-us: \"{}\" is no window", text), "windows look like 120:480");
  return {from * 1000, to * 1000};
}

void refuse_unused(const PlotOptions& o) {
  const auto refuse = [&](bool given, const char* flag, std::initializer_list<const char*> views) {
    const bool used = o.view == "all" || std::find(views.begin(), views.end(), o.view) != views.end();
    if (given && !used)
      throw Error(ErrorKind::usage, fmt::format("{} says nothing to {}", flag, o.view), "leave it out");
  };
  refuse(o.step != kAbsent, "--step", {"gantt"});
  refuse(!o.window.empty(), "--window-us", {"gantt"});
  refuse(!o.limits.empty(), "--slo", {"cdf"});
  refuse(!o.layers.empty(), "--layers", {"heatmap", "load", "imbalance"});
  refuse(o.workers != kAbsent, "--workers", {"load", "imbalance"});
  if (o.view == "all" && o.to != "html")
    throw Error(ErrorKind::usage, fmt::format("all views are one page: --to {} takes one view", o.to),
                "give --to html, or one of heatmap, load, gantt, cdf, imbalance");
  if (o.to != "chrome") return;
  if (o.view != "gantt")
    throw Error(ErrorKind::usage, fmt::format("--to chrome is a form of gantt, not of {}", o.view),
                "afore-trace plot gantt --to chrome");
  if (!o.window.empty())
    throw Error(ErrorKind::usage, "--window-us is for drawings; a trace viewer has its own", "leave it out");
}

RecordStream open_stream(const PlotOptions& o) {
  return RecordStream(o.file, read_options(o.top_k, true), recover_of(o.recover));
}

[[noreturn]] void refuse_missing(const std::string& name, const std::string& what) {
  throw Error(ErrorKind::data, name + ": " + what);
}

std::string chrome_text(const PlotOptions& o) {
  RecordStream in = open_stream(o);
  const auto step = o.step == kAbsent ? std::nullopt : std::optional(o.step);
  wire::ChromeTrace trace(step);
  bool any = false;
  while (in.next()) {
    const Record& record = in.record();
    any = any || std::holds_alternative<Operation>(record);
    if (const auto* operation = std::get_if<Operation>(&record)) trace.add(*operation);
    else if (const auto* plan = std::get_if<Plan>(&record)) trace.add(*plan);
    else if (const auto* header = std::get_if<Header>(&record)) trace.add(*header);
  }
  if (trace.empty())
    refuse_missing(in.lines().name(), any ? "no operation records of step " + std::to_string(o.step)
                                          : report::missing(report::RunData(), report::View::gantt));
  return trace.json();
}

void refuse_contradiction(const PlotOptions& o, const Header& header) {
  const std::int64_t said = header.cluster.ffn_workers;
  if (o.workers != kAbsent && said > 0 && said != o.workers)
    throw Error(ErrorKind::usage, fmt::format("--workers {}: the stream's header says {}", o.workers, said),
                "leave it out; afore-plan and afore-serve plan for other numbers of workers");
}

std::string picture_text(const PlotOptions& o) {
  report::RunOptions options;
  for (const int layer : o.layers.empty() ? std::vector<int>() : parse_int_list(o.layers, "--layers"))
    options.layers.insert(layer);
  if (o.step != kAbsent) options.step = o.step;
  options.workers = o.workers;
  report::ViewOptions view_options;
  report::LatencyLimits& limits = view_options.limits;
  parse_limits(o.limits, "--slo", {{"ttft", &limits.ttft_ms}, {"itl", &limits.itl_ms}, {"tpot", &limits.tpot_ms}});
  if (!o.window.empty()) view_options.window = parse_window(o.window);
  RecordStream in = open_stream(o);
  report::RunData data(options);
  while (in.next()) {
    if (const auto* header = std::get_if<Header>(&in.record())) refuse_contradiction(o, *header);
    data.see(in.record());
  }
  data.finish();
  std::vector<report::View> views;
  for (const report::View view : report::kViews)
    if (o.view == "all" || o.view == report::to_string(view)) views.push_back(view);
  if (o.view != "all")
    if (const std::string missing = report::missing(data, views[0]); !missing.empty())
      refuse_missing(in.lines().name(), missing);
  if (o.to == "html") return report::run_page(data, views, view_options);
  if (o.to == "tsv") return report::picture_data(data, views[0]).tsv();
  return report::picture(data, views[0], view_options).standalone();
}

void run_plot(PlotOptions o) {
  if (o.to.empty()) o.to = o.view == "all" ? "html" : "svg";
  refuse_unused(o);
  check_can_publish(o.output, false, kPlotHint);
  publish(o.output, o.to == "chrome" ? chrome_text(o) : picture_text(o), false, kPlotHint);
}

}  // namespace

void add_plot(Command app) {
  Command sub = app.command("plot", "Pictures of a stream: SVG, one HTML page, tables, a trace for Perfetto");
  auto o = std::make_shared<PlotOptions>();
  sub.choice("VIEW", o->view,
             "Expert load by layer; worker load; who did what when; latencies; imbalance and copies over time; all",
             {"heatmap", "load", "gantt", "cdf", "imbalance", "all"})
      .required()
      .hide_default();
  sub.option("STREAM", o->file, "Stream, - is standard input").show_default();
  sub.choice("--to", o->to, "Form (default: html for all, else svg); chrome is for gantt",
             {"svg", "tsv", "html", "chrome"})
      .hide_default();
  sub.option("-o,--output", o->output, "File that it goes to; - is standard output").show_default();
  add_recover(sub, o->recover);
  sub.option("--layers", o->layers, "heatmap, load, imbalance: only these layers, like 3-5,10");
  sub.integer("--step", o->step, "gantt: this step (default: the one with most copies; of a trace: all)")
      .hide_default();
  sub.option("--window-us", o->window, "gantt: only this part of the step, in us since it began, like 120:480")
      .value_name("FROM:TO");
  sub.option("--slo", o->limits, "cdf: lines at these limits in ms, like \"ttft:500 itl:50\"")
      .value_name("LIMITS")
      .one_value();
  sub.integer("--workers", o->workers, "load, imbalance: FFN workers (default: the header's, else 8)", 1, 1 << 20)
      .hide_default();
  sub.integer("--top-k", o->top_k, "Experts per token, for streams without a header", 1, 1024).hide_default();
  sub.examples({{"Which experts are hot, layer by layer",
                 "afore-trace synth --model gpt-oss-20b --steps 20 --tokens 512 > demand.jsonl\n"
                 "afore-trace plot heatmap demand.jsonl -o heatmap.svg"},
                {"One page of a run that needs no network",
                 "afore-serve replay --policy afore --workers 8 --timeline demand.jsonl |\n"
                 "  afore-trace plot all -o run.html"},
                {"Who did what when, for ui.perfetto.dev",
                 "afore-serve replay --policy afore --workers 8 --timeline demand.jsonl |\n"
                 "  afore-trace plot gantt --to chrome -o trace.json"}});
  sub.on_run([o, app] {
    refuse_terminal_stdin(o->file, app);
    run_plot(*o);
  });
}

}  // namespace afore::cli
