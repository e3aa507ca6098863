#include "bench/gpu/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "wire/json_writer.h"

namespace afore::bench::gpu {
namespace {

void write_checks(wire::JsonWriter& json, const std::vector<Check>& checks) {
  json.key("checks");
  json.open('[');
  for (const Check& check : checks) {
    json.separate();
    json.open('{');
    json.string("section", check.section);
    json.string("name", check.name);
    json.boolean("passed", check.passed);
    json.string("detail", check.detail);
    json.close('}');
  }
  json.close(']');
}

void write_figures(wire::JsonWriter& json, const Report& report) {
  json.key("figures");
  json.open('[');
  for (const Figure& figure : report.figures) {
    const bool measured = !report.stand_in;
    json.separate();
    json.open('{');
    json.string("section", figure.section);
    json.string("name", figure.name);
    json.real_or_null("value", measured ? std::optional(figure.value) : std::nullopt);
    json.real_or_null("p95", measured ? figure.p95 : std::nullopt);
    json.string("unit", figure.unit);
    json.integer("n", figure.n);
    json.string("note", figure.note);
    json.string("goal", figure.goal);
    json.boolean("met", measured && figure.met);
    json.close('}');
  }
  json.close(']');
}

void write_rest(wire::JsonWriter& json, const Report& report) {
  json.key("skipped");
  json.open('[');
  for (const Skipped& skipped : report.skipped) {
    json.separate();
    json.open('{');
    json.string("section", skipped.section);
    json.string("why", skipped.why);
    json.close('}');
  }
  json.close(']');
  json.key("steps");
  json.open('[');
  for (const Step& step : report.steps) {
    json.separate();
    json.open('{');
    json.string("name", step.name);
    json.integer("exit_code", step.exit_code);
    json.real("seconds", step.seconds);
    json.close('}');
  }
  json.close(']');
}

std::string readable(double value) {
  if (value >= 1000) return fmt::format("{:.0f}", value);
  if (value >= 10) return fmt::format("{:.1f}", value);
  return fmt::format("{:.3f}", value);
}

std::string row(const Figure& figure, bool stand_in) {
  const std::string value = stand_in ? "stand-in" : readable(figure.value);
  const std::string p95 = stand_in || !figure.p95 ? "" : readable(*figure.p95);
  std::string goal = figure.goal;
  if (!goal.empty()) goal = fmt::format("{}: {}", goal, stand_in ? "not judged" : figure.met ? "met" : "NOT MET");
  const bool both = !goal.empty() && !figure.note.empty();
  const std::string last = fmt::format("{}{}{}", goal, both ? "; " : "", figure.note);
  std::string text = fmt::format("{:<10} {:<50} {:>9} {:>9} {:<7} {:>5}  {}", figure.section, figure.name, value, p95,
                                 figure.unit, figure.n, last);
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

std::string check_rows(const Report& report) {
  std::string text = fmt::format("{:<10} {:<50} {}\n", "section", "check", "result");
  for (const Check& check : report.checks)
    text += fmt::format("{:<10} {:<50} {}\n", check.section, check.name,
                        fmt::format("{}{}", check.passed ? "ok" : "FAILED: ", check.detail));
  return text;
}

}  // namespace

void Report::check(const std::string& section, const std::string& name, const std::string& detail) {
  checks.push_back({section, name, detail.empty(), detail});
}

bool Report::passed() const {
  return !checks.empty() && std::all_of(checks.begin(), checks.end(), [](const Check& check) { return check.passed; });
}

std::string Report::json() const {
  std::string out;
  wire::JsonWriter json(out);
  json.open('{');
  json.string("kind", "gpu_check");
  json.boolean("stand_in", stand_in);
  json.boolean("passed", passed());
  json.key("facts");
  json.open('{');
  for (const auto& [name, value] : facts) json.string(name, value);
  json.close('}');
  write_checks(json, checks);
  write_figures(json, *this);
  write_rest(json, *this);
  json.close('}');
  return out + "\n";
}

std::string Report::table() const {
  std::string text;
  for (const auto& [name, value] : facts) text += fmt::format("# {}: {}\n", name, value);
  if (stand_in) text += "# stand-in: a CPU in a GPU's place. Nothing here is a measurement.\n";
  text += "\n" + check_rows(*this);
  text += fmt::format("\n{:<10} {:<50} {:>9} {:>9} {:<7} {:>5}  {}\n", "section", "figure", "median", "p95", "unit",
                      "n", "goal; note");
  for (const Figure& figure : figures) text += row(figure, stand_in);
  if (!skipped.empty()) text += "\n";
  for (const Skipped& skip : skipped) text += fmt::format("not run    {}: {}\n", skip.section, skip.why);
  if (!steps.empty()) text += fmt::format("\n{:<50} {:>9} {:>9}\n", "step", "exit code", "seconds");
  for (const Step& step : steps)
    text += fmt::format("{:<50} {:>9} {:>9.1f}\n", step.name, step.exit_code, step.seconds);
  const auto failed = std::count_if(checks.begin(), checks.end(), [](const Check& check) { return !check.passed; });
  const auto goals = std::count_if(figures.begin(), figures.end(), [](const Figure& f) { return !f.goal.empty(); });
  const auto met =
      std::count_if(figures.begin(), figures.end(), [](const Figure& f) { return !f.goal.empty() && f.met; });
  text += fmt::format("\n{} checks, {} failed; ", checks.size(), failed);
  text += stand_in ? fmt::format("{} goals, not judged\n", goals) : fmt::format("{} goals, {} met\n", goals, met);
  return text;
}

void add_report(wire::JsonValue from, Report& to) {
  wire::ObjectReader object(from);
  to.stand_in = to.stand_in || object.required("stand_in").boolean();
  for (const wire::JsonValue fact : object.required("facts")) {
    const std::pair<std::string, std::string> said(fact.key(), fact.string());
    if (std::find(to.facts.begin(), to.facts.end(), said) == to.facts.end()) to.facts.push_back(said);
  }
  for (const wire::JsonValue item : object.required("checks")) {
    wire::ObjectReader check(item);
    to.checks.push_back({std::string(check.required("section").string()), std::string(check.required("name").string()),
                         check.required("passed").boolean(), std::string(check.required("detail").string())});
  }
  for (const wire::JsonValue item : object.required("figures")) {
    wire::ObjectReader figure(item);
    Figure read{.section = std::string(figure.required("section").string()),
                .name = std::string(figure.required("name").string()),
                .unit = {},
                .value = 0,
                .p95 = {},
                .n = 1,
                .note = {},
                .goal = {},
                .met = false};
    const wire::JsonValue value = figure.required("value"), p95 = figure.required("p95");
    if (!value.is_null()) read.value = value.number();
    if (!p95.is_null()) read.p95 = p95.number();
    read.unit = figure.required("unit").string();
    read.n = figure.required("n").integer();
    read.note = figure.required("note").string();
    read.goal = figure.required("goal").string();
    read.met = figure.required("met").boolean();
    to.figures.push_back(std::move(read));
  }
  for (const wire::JsonValue item : object.required("skipped")) {
    wire::ObjectReader skipped(item);
    to.skipped.push_back(
        {std::string(skipped.required("section").string()), std::string(skipped.required("why").string())});
  }
}

}  // namespace afore::bench::gpu
