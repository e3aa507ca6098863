// `afore-trace compare`: what one run predicted beside what the other measured.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "commands.h"
#include "common/cli.h"
#include "common/record_stream.h"
#include "compare_report.h"
#include "util/error.h"

namespace afore::cli {
namespace {

constexpr double kMaxPercent = 1e9;

struct CompareOptions {
  std::string a, b, recover = "tail", metrics = "output_throughput,mean_tpot_ms";
  double max_mape = 0;
  bool has_max_mape = false, has_metrics = false, json = false;
};

std::vector<std::string> names_in(const std::string& text) {
  std::vector<std::string> known;
  for (const wire::SummaryNumber& number : wire::summary_numbers("{}")) known.push_back(number.key);
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string name = text.substr(begin, end - begin);
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw Error(ErrorKind::usage, "--metrics has an unknown name '" + name + "'",
                  "numbers of a summary, separated by commas; docs/metrics.md lists them");
    names.push_back(name);
    begin = end + 1;
  }
  return names;
}

std::optional<Gate> gate_of(const CompareOptions& o) {
  if (!o.has_max_mape) {
    if (o.has_metrics)
      throw Error(ErrorKind::usage, "--metrics says what --max-mape judges", "give --max-mape PCT, too");
    return std::nullopt;
  }
  if (!(o.max_mape >= 0 && o.max_mape <= kMaxPercent))
    throw Error(ErrorKind::usage,
                fmt::format("--max-mape is {}, not a percentage from 0 to {:.0f}", o.max_mape, kMaxPercent));
  Gate gate;
  gate.limit_percent = o.max_mape;
  gate.metrics = names_in(o.metrics);
  return gate;
}

// A metric that the workload has not, as TPOT where nothing says which request a token is of, is in neither: asked for
// by name it is missing, else it is passed over.
void judge(Gate& gate, const Comparison& comparison, bool by_name) {
  double worst = -1;
  for (const std::string& name : gate.metrics) {
    const auto at = std::find_if(comparison.metrics.begin(), comparison.metrics.end(),
                                 [&](const ComparedMetric& metric) { return metric.key == name; });
    const bool in_neither = at == comparison.metrics.end();
    if (in_neither || !at->a || !at->b) {
      if (by_name || !in_neither) gate.missing.push_back(name);
      continue;
    }
    // Where only A is 0 no percentage is enough.
    const double off = at->difference_percent ? std::abs(*at->difference_percent) : INFINITY;
    if (off <= worst) continue;
    worst = off;
    gate.worst = name;
    gate.worst_percent = at->difference_percent;
  }
  if (gate.worst.empty()) gate.missing = gate.metrics;
  gate.exceeded = worst > gate.limit_percent;
}

// Metrics that cannot be judged are no pass, and no fail where another one fails.
void answer(const Gate& gate, const Comparison& comparison) {
  if (gate.exceeded) {
    const std::string by = gate.worst_percent ? fmt::format("by {:+.2f} % of A", *gate.worst_percent) : "from 0 in A";
    throw Error(ErrorKind::answer_no,
                fmt::format("{} differs most, {}; --max-mape is {}", gate.worst, by, gate.limit_percent));
  }
  if (!gate.missing.empty())
    throw Error(ErrorKind::data,
                fmt::format("{} and {} do not both have a number for {}", comparison.a.name, comparison.b.name,
                            fmt::join(gate.missing, ", ")),
                "--metrics names what --max-mape judges");
}

void run_compare(const CompareOptions& o) {
  std::optional<Gate> gate = gate_of(o);
  if (o.a == "-" && o.b == "-")
    throw Error(ErrorKind::usage, "A and B cannot both be standard input", "name a file for one of them");
  Run a = read_run(o.a, recover_of(o.recover));
  const Comparison comparison = compare_runs(std::move(a), read_run(o.b, recover_of(o.recover)));
  if (gate) judge(*gate, comparison, o.has_metrics);
  ByteWriter out("-");
  out.write(o.json ? comparison_json(comparison, gate) : comparison_text(comparison));
  out.finish();
  if (gate) answer(*gate, comparison);
}

}  // namespace

void add_compare(Command app) {
  Command sub = app.command(
      "compare",
      "Two runs of one workload side by side: what A predicted and B measured. Numbers of the last summaries, and how\n"
      "well times agree target by target and request by request (docs/metrics.md)");
  auto o = std::make_shared<CompareOptions>();
  sub.option("A", o->a, "Stream with the times that count as predicted, - is standard input").required();
  sub.option("B", o->b, "Stream with the times that count as measured").required();
  add_recover(sub, o->recover);
  Option max_mape =
      sub.option("--max-mape", o->max_mape, "Exit 1 where a number of --metrics differs by more percent of A's")
          .value_name("PCT")
          .hide_default();
  Option metrics = sub.option("--metrics", o->metrics, "Numbers that --max-mape judges, separated by commas")
                       .value_name("LIST")
                       .show_default();
  sub.flag("--json", o->json, "One line of JSON instead of the tables");
  sub.examples({{"What one policy predicts beside another",
                 "afore-trace synth --model gpt-oss-20b --steps 20 --tokens 512 > demand.jsonl\n"
                 "afore-serve replay --workers 4 --policy static demand.jsonl > static.jsonl\n"
                 "afore-serve replay --workers 4 --policy afore demand.jsonl > afore.jsonl\n"
                 "afore-trace compare static.jsonl afore.jsonl"},
                {"Exit 1 unless two runs agree to one percent",
                 "afore-trace compare --max-mape 1 --metrics output_throughput \\\n"
                 "  static.jsonl static.jsonl"}});
  sub.on_run([=] {
    o->has_max_mape = max_mape.given();
    o->has_metrics = metrics.given();
    refuse_terminal_stdin(o->a, app);
    refuse_terminal_stdin(o->b, app);
    run_compare(*o);
  });
}

}  // namespace afore::cli
