#include "afore-serve/calibrate.h"

#include <fmt/format.h>

#include <memory>

#include "common/cli.h"
#include "common/messages.h"
#include "common/presets.h"
#include "common/publish.h"
#include "common/record_stream.h"
#include "fit/run_fit.h"
#include "util/error.h"
#include "wire/wire.h"

namespace afore::serve {
namespace {

struct CalibrateFlags {
  std::string input = "-", recover = "tail", base = "cpu", output = "-", name;
  bool force = false;
};

std::string line(const char* what, const fit::FittedOperation& operation, const char* form) {
  return fmt::format("{:<10} {:>7} operations  {}  error: median {:.1f} %, p90 {:.1f} %\n", what,
                     operation.points.size(),
                     fmt::format(fmt::runtime(form), operation.model.c[0], operation.model.c[1], operation.model.c[2]),
                     100 * operation.errors.median, 100 * operation.errors.p90);
}

std::string hop(const char* what, const std::optional<double>& ns) {
  return fmt::format("{:<38} {}\n", what, ns ? fmt::format("{:.0f} ns", *ns) : "never seen with an idle worker");
}

std::string report(const fit::RunFitResult& result, const std::optional<double>& plan_ns) {
  std::string text = line("attention", result.attention, "{:.0f} + {:.1f} tokens + {:.3f} cached");
  text += line("experts", result.ffn, "{:.0f} + {:.1f} tiles + {:.1f} activated");
  text += line("sampling", result.sampling, "{:.0f} + {:.1f} sequences");
  text += fmt::format("{:<10} {:>7} operations  {:.0f} + {:.1f} tokens\n", "step begin", result.first.points.size(),
                      result.first.model.c[0], result.first.model.c[1]);
  text += hop("mean, last gate to FFN", result.to_ffn_ns);
  text += hop("mean, last FFN to attention", result.to_attention_ns);
  text += hop("mean, sampled to the next step", result.next_step_ns);
  text += hop("median copy of an expert", result.copy_ns);
  text += hop("mean plan", plan_ns);
  return text;
}

constexpr double kPoorFit = 0.25;

void warn_of_poor_fits(const fit::RunFitResult& result) {
  const std::pair<const char*, const fit::FittedOperation*> operations[] = {
      {"attention", &result.attention}, {"experts", &result.ffn}, {"sampling", &result.sampling}};
  for (const auto& [what, operation] : operations)
    if (operation->errors.median > kPoorFit)
      cli::warn(
          fmt::format("the fit misses half of the operations of {} by more than {:.0f} %: other work disturbed the "
                      "run, or it was too short; record it again",
                      what, 100 * operation->errors.median));
}

void require_measured(const cli::RecordStream& stream) {
  const char* const hint = "record one with afore-serve run --record FILE --timeline";
  if (!stream.header()) throw Error(ErrorKind::data, "the stream has no header", hint);
  if (!stream.header()->measured) throw Error(ErrorKind::data, "the stream's times are not measured", hint);
  if (stream.header()->cluster.ffn_workers == kAbsent)
    throw Error(ErrorKind::data, "the stream's header does not say how many FFN workers there were", hint);
}

void calibrate(const CalibrateFlags& flags) {
  HardwareProfile base = cli::load_cost(flags.base);
  if (flags.output != "-") cli::check_can_publish(flags.output, flags.force, cli::kForceHint);
  cli::RecordStream stream(flags.input, {}, cli::recover_of(flags.recover), cli::Progress::Output::at_end);
  fit::RunFit run;
  std::optional<double> plan_ns;
  while (stream.next()) {
    require_measured(stream);
    const Record& record = stream.record();
    if (const auto* header = std::get_if<Header>(&record)) run.on_header(*header);
    else if (const auto* batch = std::get_if<Batch>(&record)) run.on_batch(*batch);
    else if (const auto* demand = std::get_if<Demand>(&record)) run.on_demand(*demand);
    else if (const auto* plan = std::get_if<Plan>(&record)) run.on_plan(*plan);
    else if (const auto* operation = std::get_if<Operation>(&record)) run.on_operation(*operation);
    else if (const auto* summary = std::get_if<Summary>(&record); summary && summary->plan_ns)
      plan_ns = summary->plan_ns->mean;
  }
  const fit::RunFitResult result = run.result();
  HardwareProfile profile = fit::calibrated(base, result, *stream.header(), plan_ns);
  profile.name = flags.name.empty() ? "calibrated" : flags.name;
  const std::string text = wire::to_json(profile);
  wire::parse_cost_file(text,
                        "the calibrated cost file");  // times beyond all reason are refused here, not by who reads it
  cli::publish(flags.output, text + "\n", flags.force, cli::kForceHint);
  warn_of_poor_fits(result);
  if (flags.output == "-") return;
  ByteWriter out("-");
  out.write(report(result, plan_ns));
  out.finish();
}

}  // namespace

void add_calibrate(cli::Command app) {
  cli::Command sub = app.command("calibrate", "A cost file from a run recorded with --timeline");
  auto flags = std::make_shared<CalibrateFlags>();
  sub.option("FILE", flags->input, "What afore-serve run --record FILE --timeline wrote, - for standard input")
      .show_default();
  sub.option("--cost", flags->base, "Where the values come from that the run does not show").show_default();
  sub.option("--name", flags->name, "The cost file's name for itself (default: calibrated)");
  sub.option("-o,--output", flags->output, "The cost file; then the fit is shown on standard output")
      .value_name("FILE")
      .show_default();
  sub.flag("--force", flags->force, "Replace an existing file");
  cli::add_recover(sub, flags->recover);
  sub.examples({{"The costs of this machine, from a run on it",
                 "afore-serve run --workload math --num-prompts 4 --max-tokens 8 --json \\\n"
                 "  --record run.jsonl --timeline > answers.jsonl\n"
                 "afore-serve calibrate run.jsonl -q -o this.json"},
                {"What they predict",
                 "afore-serve replay --policy afore --ignore-plans --cost this.json \\\n"
                 "  --only summary run.jsonl"}});
  sub.on_run([flags, sub] {
    cli::refuse_terminal_stdin(flags->input, sub);
    calibrate(*flags);
  });
}

}  // namespace afore::serve
