// afore-migrate: how fast expert weights move. Without a command it is a benchmark of copies between host arenas;
// `calibrate` turns the same measurement into a cost file.
#include <fmt/format.h>

#include <cmath>

#include "afore-migrate/report.h"
#include "afore-migrate/sweep.h"
#include "common/cli.h"
#include "common/publish.h"
#include "migrate/copy_fit.h"
#include "util/error.h"
#include "util/line_io.h"
#include "wire/wire.h"

namespace {

using namespace afore;

constexpr double kPoorFit = 0.25;  // relative error of the fit from which the user is warned

struct BenchFlags {
  cli::SweepFlags sweep;
  std::string json_file;
  bool json = false;
};

struct CalibrateFlags {
  cli::SweepFlags sweep;
  std::string base = "h100";
  std::string output = "-";
  bool force = false;
};

void refuse_wrong_data(std::int64_t wrong) {
  if (wrong == 0) return;
  throw Error(ErrorKind::answer_no, fmt::format("{} bytes arrived wrong", wrong),
              "this machine's memory is not to be trusted");
}

void run_benchmark(const BenchFlags& flags, const std::vector<std::string>& arguments) {
  const std::string hint = "-J never overwrites: give another name";
  const cli::Sweep sweep = cli::resolve(flags.sweep);
  if (!flags.json_file.empty()) cli::check_can_publish(flags.json_file, false, hint);
  ByteWriter out("-");
  if (!flags.json) out.write(cli::table_head(sweep));
  out.flush();
  const auto output = flags.json ? cli::Progress::Output::at_end : cli::Progress::Output::streams;
  cli::RunTimes times;
  times.start = migrate::utc_now();
  const cli::SweepResult result = cli::run_sweep(sweep, output, [&](const migrate::CopyPoint& point) {
    if (flags.json) return;
    out.write(cli::table_row(point));
    out.flush();  // someone may be watching
  });
  times.end = migrate::utc_now();
  const std::string json = cli::json_report(arguments, sweep, result, times);
  out.write(flags.json ? json : cli::table_foot(result));
  out.finish();
  if (!flags.json_file.empty()) cli::publish(flags.json_file, json, false, hint);
  refuse_wrong_data(result.wrong);
}

void run_calibrate(const CalibrateFlags& flags) {
  const std::string hint = "give another name, or --force to replace it";
  const cli::Sweep sweep = cli::resolve(flags.sweep);
  if (sweep.sizes.size() < 2) {
    throw Error(ErrorKind::usage, "calibrate needs at least two sizes to fit a line through",
                "raise -e to at least -b times -f");
  }
  HardwareProfile profile = cli::load_cost(flags.base);
  cli::check_can_publish(flags.output, flags.force, hint);
  const cli::SweepResult result =
      cli::run_sweep(sweep, cli::Progress::Output::at_end, [](const migrate::CopyPoint&) {});
  if (result.interrupted) throw Error(ErrorKind::interrupted, "no cost file was written");
  refuse_wrong_data(result.wrong);

  const migrate::CopyFit fit = migrate::fit_copy_time(result.points);
  const std::string suffix = "+host-copies";
  if (!profile.name.ends_with(suffix)) profile.name += suffix;
  profile.copy_latency_ns = fit.latency_ns;
  profile.copy_bytes_per_s = std::round(fit.bytes_per_s);
  cli::publish(flags.output, wire::to_json(profile) + "\n", flags.force, hint);
  if (flags.output != "-") {
    ByteWriter out("-");
    out.write_line(fmt::format("{}: copy_latency_ns {}, copy_bytes_per_s {:.0f}, fit within {:.1f} % at {} sizes",
                               flags.output, profile.copy_latency_ns, profile.copy_bytes_per_s,
                               100 * fit.worst_relative_error, result.points.size()));
    out.finish();
  }
  if (fit.worst_relative_error > kPoorFit) {
    cli::warn(
        fmt::format("the fitted line is {:.0f} % off at one size: caches or other work disturb it; -n and a larger "
                    "-b help",
                    100 * fit.worst_relative_error));
  }
}

// Flags of the benchmark have no effect on a command: say so rather than drop them.
void refuse_flags_before_command(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() > 0 && !option->check_name("--quiet")) {
      throw Error(ErrorKind::usage, fmt::format("{} before calibrate has no effect", option->get_name()),
                  "put it after calibrate");
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  BenchFlags bench;
  CalibrateFlags calibrate;
  const std::vector<std::string> arguments(argv, argv + argc);
  return cli::tool_main(
      argc, argv, "afore-migrate",
      "Copies expert weights between host workers and prints nccl-tests' columns: time is of the slowest port, algbw "
      "is\nsize / time, busbw is what one out port carries. Exit 1 when a byte arrived wrong.",
      [&](CLI::App& app) {
        cli::add_sweep_flags(app, bench.sweep);
        app.add_option("-J,--json_file", bench.json_file, "Also write the results as JSON; never overwrites")
            ->type_name("FILE");
        app.add_flag("--json", bench.json, "The same JSON on standard output, instead of the table");
        cli::examples(app, {{"Copies of 64 KiB to 1 MiB between two workers", "afore-migrate -b 64K -e 1M -n 5"},
                            {"From one worker to three, for a program",
                             "afore-migrate -b 64K -e 1M -n 5 --workers 4 --pattern fanout --json \\\n"
                             "  > copies.json"}});
        app.final_callback([&] {
          if (app.get_subcommands().empty()) run_benchmark(bench, arguments);
        });

        CLI::App* sub = app.add_subcommand("calibrate", "Measure, and write a cost file for --cost");
        sub->footer(
            "copy_latency_ns and copy_bytes_per_s are a line, time = latency + size / rate, through the median time "
            "of\n"
            "each size: least squares of the relative error, so that every size counts alike, and a latency of 0 or\n"
            "more. The other values are those of --cost.");
        cli::add_sweep_flags(*sub, calibrate.sweep);
        sub->add_option("--cost", calibrate.base, "Where the other values come from: a100, h100, h200 or a cost file")
            ->type_name("NAME|FILE")
            ->capture_default_str();
        sub->add_option("-o,--output", calibrate.output, "The cost file; - is standard output")
            ->type_name("FILE")
            ->capture_default_str();
        sub->add_flag("--force", calibrate.force, "Replace an existing file");
        cli::examples(*sub, {{"What copies cost on this machine, for the planner",
                              "afore-migrate calibrate -q -b 64K -e 1M -n 5 -o copies.json\n"
                              "afore-trace synth --model gpt-oss-20b --steps 5 --tokens 512 |\n"
                              "  afore-plan --workers 4 --cost copies.json > planned.jsonl"},
                             {"On standard output, from another base",
                              "afore-migrate calibrate -q -b 64K -e 1M -n 5 --cost a100"}});
        sub->final_callback([&] {
          refuse_flags_before_command(app);
          run_calibrate(calibrate);
        });
      });
}
