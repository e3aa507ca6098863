// `afore-trace repair`: the good frames of a damaged log as a whole one.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "commands.h"
#include "common/publish.h"
#include "common/record_sink.h"
#include "log_input.h"
#include "util/error.h"

namespace afore::cli {
namespace {

const char* const kOverwriteHint = "repair never overwrites: give another name";

struct RepairOptions {
  std::string file, output;
};

// A name beside `path` that a log can be created under; removed unless it was moved away.
struct Unfinished {
  explicit Unfinished(const std::string& path) : name(fmt::format("{}.{}.unfinished", path, ::getpid())) {}
  ~Unfinished() { ::unlink(name.c_str()); }
  std::string name;
};

void copy_lines(LogReader& from, LogWriter& to, const volatile int* stop) {
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
  check_can_publish(o.output, false, kOverwriteHint);
  const volatile int* stop = catch_interrupts();
  LogInput input(o.file, Recover::skip, stop);
  if (input.held())
    throw Error(ErrorKind::io, input.name() + ": a writer holds this log", "wait until it has ended, or stop it");
  const Unfinished unfinished(o.output);
  {
    LogWriter writer(unfinished.name, {});
    copy_lines(input.reader(), writer, stop);
    writer.finish();
  }
  // link, unlike rename, refuses a name that has come to exist meanwhile.
  if (::link(unfinished.name.c_str(), o.output.c_str()) != 0)
    throw Error(ErrorKind::io, fmt::format("{}: {}", o.output, std::strerror(errno)), kOverwriteHint);
  const LogReport& report = input.reader().report();
  ByteWriter out("-");
  out.write(fmt::format("{}: {} lines kept, {} lines and {} bytes lost\n", o.output, report.lines, report.lost_lines,
                        report.lost_bytes));
  out.finish();
}

}  // namespace

void add_repair(CLI::App& app) {
  CLI::App* sub = app.add_subcommand("repair", "What is whole in a damaged log, as a new log");
  auto o = std::make_shared<RepairOptions>();
  sub->add_option("FILE", o->file, "Log, - is standard input")->required();
  sub->add_option("-o,--output", o->output, "The new log, a name in .afl that does not exist yet")->required();
  sub->final_callback([o] { run_repair(*o); });
}

}  // namespace afore::cli
