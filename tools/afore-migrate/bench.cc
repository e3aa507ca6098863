// The benchmark of copies.
#include <fmt/format.h>

#include <memory>

#include "afore-migrate/commands.h"
#include "afore-migrate/report.h"
#include "afore-migrate/sweep.h"
#include "common/options.h"
#include "common/publish.h"
#include "util/error.h"
#include "util/line_io.h"

namespace afore::cli {
namespace {

struct BenchFlags {
  SweepFlags sweep;
  std::string json_file;
  std::optional<double> min_gbps;
  bool json = false;
};

void refuse_low_bandwidth(const SweepResult& result, const std::optional<double>& min_gbps) {
  if (!min_gbps) return;
  for (const PathResult& path : result.paths)
    if (const double gbps = average_bus_bandwidth(path); gbps < *min_gbps)
      throw Error(ErrorKind::answer_no,
                  fmt::format("path {}: the average bus bandwidth is {:.4f} GB/s, below --min-bw {}",
                              to_string(path.path), gbps, *min_gbps));
}

void run_benchmark(const BenchFlags& flags, const std::vector<std::string>& arguments) {
  const std::string hint = "-J never overwrites: give another name";
  RunFacts facts{.arguments = arguments, .start = {}, .end = {}, .min_gbps = flags.min_gbps};
  const Sweep sweep = resolve(flags.sweep);
  if (!flags.json_file.empty()) check_can_publish(flags.json_file, false, hint);
  ByteWriter out("-");
  const auto print = [&](const std::string& text) {
    if (flags.json) return;
    out.write(text);
    out.flush();  // someone may be watching
  };
  print(table_head(sweep));
  facts.start = utc_now();
  const SweepResult result =
      run_sweep(sweep, flags.json ? Progress::Output::at_end : Progress::Output::streams,
                {[&](device::CopyPath path) { print(path_head(sweep, path)); },
                 [&](const device::CopyPoint& point) { print(table_row(point)); },
                 [&](const PathResult& path, bool interrupted) { print(path_foot(path, interrupted)); }});
  facts.end = utc_now();
  const std::string json = json_report(sweep, result, facts);
  if (flags.json) out.write(json);
  out.finish();
  if (!flags.json_file.empty()) publish(flags.json_file, json, false, hint);
  refuse_wrong_data(result.wrong());
  refuse_time_limit(flags.sweep.device, result.interrupted,
                    fmt::format("{} of {} sizes", result.points(), sweep.sizes.size() * sweep.device.paths.size()));
  if (!result.interrupted) refuse_low_bandwidth(result, facts.min_gbps);
}

}  // namespace

void refuse_flags_before_command(Command app, const std::string& command) {
  for (const Option& option : app.options()) {
    if (option.given() && option.name() != "--quiet")
      throw Error(ErrorKind::usage, fmt::format("{} before {} has no effect", option.name(), command),
                  "put it after " + command);
  }
}

void add_bench(Command app, const std::vector<std::string>& arguments) {
  const auto flags = std::make_shared<BenchFlags>();
  add_sweep_flags(app, flags->sweep);
  app.real("--min-bw", flags->min_gbps, "GB/s that each path's average bus bandwidth must reach, else exit 1", 1e9)
      .value_name("GBPS");
  app.option("-J,--json_file", flags->json_file, "Also write the results as JSON; never overwrites")
      .value_name("FILE")
      .beside_stdout();
  app.flag("--json", flags->json, "The same JSON on standard output, instead of the table");
  app.examples({{"Copies of 64 KiB to 1 MiB between two workers", "afore-migrate -b 64K -e 1M -n 5"},
                {"From one worker to three, for a program",
                 "afore-migrate -b 64K -e 1M -n 5 --workers 4 --pattern fanout --json \\\n"
                 "  > copies.json"},
                {"Is this machine as fast as it was? Exit 1 when it is not",
                 "afore-migrate -b 1M -e 1M -n 20 -T 60 --min-bw 0.01"}});
  app.on_run([app, &arguments, flags] {
    if (app.given_commands().empty()) run_benchmark(*flags, arguments);
  });
}

}  // namespace afore::cli
