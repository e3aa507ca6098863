#include "compare_report.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <utility>

#include "common/messages.h"
#include "json_object.h"
#include "report/table.h"

namespace afore::cli {
namespace {

std::string number(double value) {
  return std::abs(value) >= 1e6 ? fmt::format("{:.0f}", value) : fmt::format("{:.6g}", value);
}

std::string or_dash(const std::optional<double>& value) { return value ? number(*value) : "-"; }
std::string percent(const std::optional<double>& value, const char* form) {
  return value ? fmt::format(fmt::runtime(form), *value) : "-";
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::string heading(const char* which, const Run& run) {
  std::string text = fmt::format("{}: {}: ", which, run.name);
  if (!run.summary) return printable(text) + "no summary\n";
  const Summary& s = *run.summary;
  text += s.producer.empty() ? "a summary" : s.producer;
  if (!s.policy.empty()) text += ", policy " + s.policy;
  if (!s.host.empty()) text += ", host " + s.host;
  if (!s.device.empty()) text += ", device " + s.device;
  return printable(text) + (s.interrupted ? ", interrupted\n" : "\n");
}

std::string metric_table(const Comparison& c) {
  report::Table table({{"metric", report::Align::left}, {"A"}, {"B"}, {"B against A"}});
  for (const ComparedMetric& m : c.metrics)
    table.add_row({m.key, or_dash(m.a), or_dash(m.b), percent(m.difference_percent, "{:+.2f}%")});
  return table.aligned();
}

void add_rows(report::Table& table, const char* kind, const ComparedRecords& records) {
  for (const ComparedField& f : records.fields) {
    const bool any = !f.a.empty();
    table.add_row({kind, f.name, std::to_string(f.a.size()), any ? number(mean(f.a)) : "-",
                   any ? number(mean(f.b)) : "-", percent(f.bias_percent, "{:+.2f}%"),
                   percent(f.mape.percent, "{:.2f}%"), std::to_string(f.mape.zeros),
                   f.pearson ? fmt::format("{:.4f}", *f.pearson) : "-"});
  }
}

std::string record_table(const Comparison& c) {
  if (c.observed.matched + c.completions.matched == 0) return "";
  using report::Align;
  report::Table table({{"record", Align::left},
                       {"field", Align::left},
                       {"pairs"},
                       {"mean A"},
                       {"mean B"},
                       {"bias"},
                       {"MAPE"},
                       {"A is 0"},
                       {"r"}});
  if (c.observed.matched > 0) add_rows(table, "observed", c.observed);
  if (c.observed.matched > 0 && c.completions.matched > 0) table.add_rule();
  if (c.completions.matched > 0) add_rows(table, "completion", c.completions);
  return fmt::format("\n{}", table.aligned());
}

// "WHERE: KEY KEY ...", in lines that fit.
std::string named(const char* where, const std::vector<std::string>& keys) {
  constexpr std::size_t kColumns = 100;
  if (keys.empty()) return "";
  std::string text, line = fmt::format("{}:", where);
  for (const std::string& key : keys) {
    if (line.size() + 1 + key.size() > kColumns) text += std::exchange(line, " ") + "\n";
    line += " " + key;
  }
  return text + line + "\n";
}

std::string counts(const char* kind, const ComparedRecords& records, const char* left_out) {
  if (!records.any()) return "";
  std::string text =
      fmt::format("{}: {} in both, {} only in A, {} only in B", kind, records.matched, records.only_a, records.only_b);
  if (records.left_out > 0) text += fmt::format("; {} {}, left out", records.left_out, left_out);
  return text + "\n";
}

std::string notes(const Comparison& c) {
  std::string text;
  if (c.a.summary && c.b.summary) {
    std::vector<std::string> not_a, not_b;
    for (const ComparedMetric& m : c.metrics) {
      if (!m.a) not_a.push_back(m.key);
      if (!m.b) not_b.push_back(m.key);
    }
    text += named("no number in A", not_a) + named("no number in B", not_b) + named("in neither", c.no_number);
  }
  text += counts("observed targets", c.observed, "of warm-up");
  text += counts("completions", c.completions, "not complete in both, with times");
  std::int64_t zeros = 0;
  for (const ComparedRecords* records : {&c.observed, &c.completions})
    for (const ComparedField& field : records->fields) zeros += field.mape.zeros;
  if (zeros > 0) text += "MAPE leaves out pairs whose A is 0; bias and r have them\n";
  if (c.a.replaced + c.b.replaced > 0)
    text += fmt::format("of several records for one target or request the last counts: {} in A and {} in B do not\n",
                        c.a.replaced, c.b.replaced);
  return text.empty() ? text : fmt::format("\n{}", text);
}

void add_or_null(JsonObject& object, const char* key, const std::optional<double>& value) {
  value ? object.add(key, *value) : object.add_raw(key, "null");
}

std::string list(const std::vector<std::string>& objects) { return fmt::format("[{}]", fmt::join(objects, ",")); }

std::string run_json(const Run& run) {
  JsonObject object;
  object.add("file", run.name);
  if (run.summary) {
    const Summary& s = *run.summary;
    object.add("producer", s.producer).add("policy", s.policy).add("host", s.host).add("device", s.device);
    object.add_raw("interrupted", s.interrupted ? "true" : "false");
  }
  return object.add("replaced", run.replaced).text();
}

std::string records_json(const ComparedRecords& records) {
  std::vector<std::string> fields;
  for (const ComparedField& f : records.fields) {
    JsonObject object;
    object.add("field", f.name).add("pairs", f.a.size());
    add_or_null(object, "mean_a", f.a.empty() ? std::nullopt : std::optional(mean(f.a)));
    add_or_null(object, "mean_b", f.b.empty() ? std::nullopt : std::optional(mean(f.b)));
    add_or_null(object, "bias_percent", f.bias_percent);
    add_or_null(object, "mape_percent", f.mape.percent);
    object.add("zeros", f.mape.zeros);
    add_or_null(object, "pearson", f.pearson);
    fields.push_back(object.text());
  }
  return JsonObject()
      .add("matched", records.matched)
      .add("only_a", records.only_a)
      .add("only_b", records.only_b)
      .add("left_out", records.left_out)
      .add_raw("fields", list(fields))
      .text();
}

std::string gate_json(const Gate& gate) {
  JsonObject object;
  object.add("limit_percent", gate.limit_percent).add_raw("metrics", json_array(gate.metrics));
  object.add_raw("missing", json_array(gate.missing));
  gate.worst.empty() ? object.add_raw("worst", "null") : object.add("worst", gate.worst);
  add_or_null(object, "difference_percent", gate.worst_percent);
  return object.add_raw("exceeded", gate.exceeded ? "true" : "false").text();
}

}  // namespace

std::string comparison_text(const Comparison& c) {
  std::string text = heading("A", c.a) + heading("B", c.b);
  if (!c.metrics.empty()) text += fmt::format("\n{}", metric_table(c));
  return text + record_table(c) + notes(c);
}

std::string comparison_json(const Comparison& c, const std::optional<Gate>& gate) {
  std::vector<std::string> metrics;
  for (const ComparedMetric& m : c.metrics) {
    JsonObject object;
    object.add("metric", m.key);
    add_or_null(object, "a", m.a);
    add_or_null(object, "b", m.b);
    add_or_null(object, "difference_percent", m.difference_percent);
    metrics.push_back(object.text());
  }
  JsonObject object;
  object.add_raw("a", run_json(c.a)).add_raw("b", run_json(c.b)).add_raw("metrics", list(metrics));
  object.add_raw("no_number", json_array(c.no_number));
  object.add_raw("observed", records_json(c.observed)).add_raw("completions", records_json(c.completions));
  if (gate) object.add_raw("max_mape", gate_json(*gate));
  return object.text() + "\n";
}

}  // namespace afore::cli
