// `afore-trace check`: whether a log is whole, and what it lacks.
#include <fmt/format.h>

#include <memory>

#include "commands.h"
#include "common/cli.h"
#include "core/records.h"
#include "json_object.h"
#include "log_input.h"
#include "util/error.h"
#include "util/line_io.h"

namespace afore::cli {
namespace {

std::string verdict_of(const LogReport& report) {
  if (report.corrupt()) return "corrupt";
  if (!report.ended) return "truncated";
  return report.continued ? "whole, goes on in the next segment" : "whole";
}

std::string facts_of(const std::string& name, const LogReport& r, bool held) {
  std::string text = fmt::format("{}: {}\n", name, verdict_of(r));
  if (held) text += "  a writer holds it: it is still being written\n";
  text += fmt::format("  version  {}\n", r.version == 0 ? "unreadable" : std::to_string(r.version));
  text += fmt::format("  segment  {}, after {} lines\n", r.segment, r.first_line);
  text += fmt::format("  frames   {}\n  lines    {}\n", r.frames, r.lines);
  const double ratio = r.stored_bytes == 0 ? 0 : static_cast<double>(r.raw_bytes) / static_cast<double>(r.stored_bytes);
  text += fmt::format("  bytes    {} of lines in {} of file ({:.2f} to 1)\n", r.raw_bytes, r.stored_bytes, ratio);
  text += fmt::format("  lost     {} lines, {} bytes, {} damaged parts\n", r.lost_lines, r.lost_bytes, r.damaged_parts);
  if (r.repeated_frames > 0) text += fmt::format("  repeated {} frames, left out\n", r.repeated_frames);
  if (r.ignored_frames > 0) text += fmt::format("  unknown  {} frames that may be left out\n", r.ignored_frames);
  return text;
}

std::string json_of(const std::string& name, const LogReport& r, bool held) {
  const auto word = [](bool value) { return value ? "true" : "false"; };
  JsonObject object;
  object.add("kind", "log").add("v", kRecordVersion).add("producer", producer("afore-trace"));
  object.add("file", name).add("verdict", r.corrupt() ? "corrupt" : r.ended ? "whole" : "truncated");
  object.add_raw("held", word(held)).add_raw("continued", word(r.continued));
  object.add("version", r.version).add("segment", r.segment).add("first_line", r.first_line);
  object.add("frames", r.frames).add("lines", r.lines).add("raw_bytes", r.raw_bytes);
  object.add("stored_bytes", r.stored_bytes).add("lost_lines", r.lost_lines).add("lost_bytes", r.lost_bytes);
  object.add("damaged_parts", r.damaged_parts).add("repeated_frames", r.repeated_frames);
  return object.add("ignored_frames", r.ignored_frames).text() + "\n";
}

void run_check(const std::string& file, bool json) {
  LogInput input(file, Recover::skip);
  const bool held = input.held();
  std::string_view lines;
  while (input.reader().next(lines)) {
  }
  const LogReport& report = input.reader().report();
  ByteWriter out("-");
  out.write(json ? json_of(input.name(), report, held) : facts_of(input.name(), report, held));
  out.finish();
  if (report.corrupt())
    throw Error(ErrorKind::data, input.name() + ": " + describe_losses(report),
                "afore-trace repair writes what is whole to a new log");
  if (!report.ended) throw Error(ErrorKind::answer_no, input.name() + ": " + describe_losses(report));
}

}  // namespace

void add_check(Command app) {
  Command sub = app.command("check", "Whether a log is whole (exit 0), truncated (1) or corrupt (3)");
  auto file = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  sub.option("FILE", *file, "Log, - is standard input").required();
  sub.flag("--json", *json, "One line of JSON instead of the table");
  sub.examples({{"A log that was written to its end",
                 "afore-trace synth --model gpt-oss-20b --steps 20 --tokens 512 -o whole.afl\n"
                 "afore-trace check whole.afl"},
                {"One whose writer was killed: truncated, exit 1",
                 "head -c 20000 whole.afl > cut.afl\n"
                 "afore-trace check --json cut.afl || echo \"exit $?\""}});
  sub.on_run([file, json] { run_check(*file, *json); });
}

}  // namespace afore::cli
