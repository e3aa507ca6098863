#include "report/run_pictures.h"

#include <fmt/format.h>

#include "report/markup.h"
#include "report/provenance.h"
#include "util/error.h"

namespace afore::report {
namespace {

std::vector<CdfPanel> cdf_panels(const RunData& data, const LatencyLimits& limits) {
  std::vector<CdfPanel> panels = latency_panels(limits);
  panels[0].series = {{"", data.ttft}};
  panels[1].series = {{"", data.tpot}};
  panels[2].series = {{"", data.itl}};
  panels[3].series = {{"", data.step_length}};
  if (!data.itl.empty()) panels.pop_back();
  return panels;
}

OverTime steps_of(const RunData& data) {
  OverTime steps;
  steps.unit = data.load.unit;
  if (data.header) steps.expert_bytes = std::max<std::int64_t>(0, data.header->model.expert_bytes);
  steps.series.push_back({"initial placement", data.before, false});
  if (data.plans > 0) steps.series.insert(steps.series.begin(), {"as planned", data.planned, true});
  return steps;
}

std::string subtitle(const RunData& data, View view) {
  std::string text = caption(data.header);
  if (view == View::heatmap && data.targets == 0) return text + "; routing of all sequences";
  if (view != View::gantt && view != View::cdf) text += fmt::format("; {} targets", grouped(data.targets));
  return text;
}

std::string no_targets(const RunData& data) {
  if (data.unwanted > 0) return "none of the layers asked for is in the stream: afore-trace stat lists those that are";
  if (data.warmup_targets > 0)
    return fmt::format("all {} targets are of phase warmup, which pictures leave out: make more steps with --steps",
                       data.warmup_targets);
  if (data.header && data.header->source == "requests")
    return "no demand records: afore-serve replay --policy POLICY serves the requests and writes them";
  return "no demand records: afore-trace synth, import and record write them";
}

Table run_figures(const RunData& data) {
  Table table({{"", Align::left}, {"value"}, {"unit", Align::left}});
  const auto add = [&](const char* name, const std::optional<double>& value, double unit, const char* unit_name) {
    if (value) table.add_row({name, brief(*value / unit), unit_name});
  };
  table.add_row({"targets", grouped(data.targets), ""});
  if (data.summaries.empty()) return table;
  const Summary& s = data.summaries.back();
  add("duration", s.duration, 1, "s");
  add("output throughput", s.output_throughput, 1, "tokens/s");
  add("total throughput", s.total_token_throughput, 1, "tokens/s");
  add("request throughput", s.request_throughput, 1, "requests/s");
  add("goodput", s.request_goodput, 1, "requests/s");
  add("TTFT p50", s.ttft.median, 1, "ms");
  add("TTFT p99", s.ttft.p99, 1, "ms");
  add("TPOT p50", s.tpot.median, 1, "ms");
  add("ITL p50", s.itl.median, 1, "ms");
  add("ITL p99", s.itl.p99, 1, "ms");
  add("FFN time of a target", s.ffn_ns, 1e3, "us");
  add("imbalance of tiles, max / mean", s.imbalance_tiles, 1, "");
  add("gain captured", s.gain_captured, 1, "");
  table.add_row({"copies", grouped(s.copies), "experts"});
  const Unit bytes = byte_unit(static_cast<double>(s.copied_bytes));
  add("copied", static_cast<double>(s.copied_bytes), bytes.size, bytes.name);
  add("exposed per target", s.exposed_ns, 1e3, "us");
  return table;
}

Table figures_of(const RunData& data, View view) {
  switch (view) {
    case View::heatmap: return heatmap_figures(data.expert_loads);
    case View::load: return worker_load_figures(data.load);
    case View::gantt: return gantt_figures(data.timeline);
    case View::cdf: return cdf_figures(cdf_panels(data, {}));
    case View::imbalance: return over_time_figures(steps_of(data));
  }
  AFORE_CHECK(false, "a view without figures");
}

const char* name_of(View view) {
  switch (view) {
    case View::heatmap: return "Expert load";
    case View::load: return "Worker load";
    case View::gantt: return "Timeline";
    case View::cdf: return "Latency";
    case View::imbalance: return "Over time";
  }
  AFORE_CHECK(false, "a view without a name");
}

}  // namespace

std::vector<CdfPanel> latency_panels(const LatencyLimits& limits) {
  return {{"TTFT", "time to first token, of completed requests", {}, limits.ttft_ms},
          {"TPOT", "time per output token after the first, by request", {}, limits.tpot_ms},
          {"ITL", "time between two tokens of a request", {}, limits.itl_ms},
          {"step", "time between the ends of a microbatch's steps", {}, {}}};
}

const char* to_string(View view) {
  switch (view) {
    case View::heatmap: return "heatmap";
    case View::load: return "load";
    case View::gantt: return "gantt";
    case View::cdf: return "cdf";
    case View::imbalance: return "imbalance";
  }
  AFORE_CHECK(false, "a view without a word");
}

std::string missing(const RunData& data, View view) {
  switch (view) {
    case View::heatmap: return data.expert_loads.layers.empty() ? no_targets(data) : "";
    case View::load:
    case View::imbalance: return data.targets == 0 ? no_targets(data) : "";
    case View::gantt:
      if (data.timeline.step >= 0) return "";
      return data.any_operations() ? "no operation records of that step"
                                   : "no operation records: afore-serve replay --timeline writes them, and so does "
                                     "afore-serve run --record FILE --timeline";
    case View::cdf:
      if (!data.ttft.empty() || !data.tpot.empty() || !data.itl.empty() || !data.step_length.empty()) return "";
      return "no completions of served requests and no sampling operations: afore-serve replay "
             "--timeline writes them";
  }
  AFORE_CHECK(false, "a view without records");
}

Canvas picture(const RunData& data, View view, const ViewOptions& options) {
  const std::string below = subtitle(data, view);
  switch (view) {
    case View::heatmap: return heatmap(data.expert_loads, below);
    case View::load: return worker_load(data.load, below);
    case View::gantt: return gantt(data.timeline, options.window, below);
    case View::cdf: return cdfs(cdf_panels(data, options.limits), below);
    case View::imbalance: return over_time(steps_of(data), below);
  }
  AFORE_CHECK(false, "a view without a picture");
}

Table picture_data(const RunData& data, View view) {
  switch (view) {
    case View::heatmap: return heatmap_data(data.expert_loads);
    case View::load: return worker_load_data(data.load);
    case View::gantt: return gantt_data(data.timeline);
    case View::cdf: return cdf_data(cdf_panels(data, {}));
    case View::imbalance: return over_time_data(steps_of(data));
  }
  AFORE_CHECK(false, "a view without data");
}

std::string run_page(const RunData& data, std::span<const View> views, const ViewOptions& options) {
  Page page;
  page.title = "AFORE run: " + caption(data.header);
  if (!data.summaries.empty() && data.summaries.back().interrupted) page.title += " (interrupted)";
  page.provenance = provenance(data.header);
  page.figures = run_figures(data);
  for (const View view : views) {
    PagePanel panel;
    panel.id = to_string(view);
    panel.name = name_of(view);
    panel.missing = missing(data, view);
    if (panel.missing.empty()) {
      panel.svg = picture(data, view, options).embedded();
      panel.figures = figures_of(data, view);
    }
    page.panels.push_back(std::move(panel));
  }
  return html_page(page);
}

}  // namespace afore::report
