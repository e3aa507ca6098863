// `afore-trace repair`: the good frames of a damaged log as a whole one.
#include <fmt/format.h>

#include <memory>

#include "commands.h"
#include "common/publish.h"
#include "common/record_sink.h"
#include "common/signals.h"
#include "log_input.h"
#include "util/error.h"

namespace afore::cli {
namespace {

const char* const kRepairHint = "repair never overwrites: give another name";

struct RepairOptions {
  std::string file, output;
};

void copy_lines(LogReader& from, LogWriter& to, const StopFlag* stop) {
  for (std::string_view lines; from.next(lines);) {
    for (std::size_t end; !lines.empty(); lines.remove_prefix(end + 1)) {
      end = lines.find('\n');
      to.write_line(lines.substr(0, end));
    }
    if (*stop != 0) throw Error(ErrorKind::interrupted, "interrupted");
  }
}

void run_repair(const RepairOptions& o) {
  if (!names_log(o.output)) throw Error(ErrorKind::usage, "-o " + o.output + ": a log has a name in .afl");
  check_can_publish(o.output, false, kRepairHint);
  const StopFlag* stop = catch_interrupts();
  LogInput input(o.file, Recover::skip, stop);
  if (input.held())
    throw Error(ErrorKind::io, input.name() + ": a writer holds this log", "wait until it has ended, or stop it");
  Unfinished unfinished(o.output);
  try {
    LogWriter writer(unfinished.name(), {});
    copy_lines(input.reader(), writer, stop);
    writer.finish();
  } catch (const Error& error) {
    // The writer's hint says what its file keeps, but that file goes.
    if (error.kind() == ErrorKind::io) throw Error(ErrorKind::io, error.what(), o.output + " was not written");
    throw;
  }
  unfinished.move_into_place(kRepairHint);
  const LogReport& report = input.reader().report();
  ByteWriter out("-");
  out.write(fmt::format("{}: {} lines kept, {} lines and {} bytes lost\n", o.output, report.lines, report.lost_lines,
                        report.lost_bytes));
  out.finish();
}

}  // namespace

void add_repair(Command app) {
  Command sub = app.command("repair", "What is whole in a damaged log, as a new log");
  auto o = std::make_shared<RepairOptions>();
  sub.option("FILE", o->file, "Log, - is standard input").required();
  sub.option("-o,--output", o->output, "The new log, a name in .afl that does not exist yet").required();
  sub.examples({{"What is whole in a log whose end is missing",
                 "afore-trace synth --model gpt-oss-20b --steps 20 --tokens 512 -o run.afl\n"
                 "head -c 20000 run.afl > cut.afl\n"
                 "afore-trace repair cut.afl -o good.afl"},
                {"It is whole now", "afore-trace check good.afl"}});
  sub.on_run([o] { run_repair(*o); });
}

}  // namespace afore::cli
