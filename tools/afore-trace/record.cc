// `afore-trace record`: a stream into a log, every record checked.
#include <memory>

#include "commands.h"
#include "common/publish.h"
#include "common/record_sink.h"
#include "common/record_stream.h"
#include "util/error.h"

namespace afore::cli {
namespace {

constexpr std::int64_t kMinRollBytes = 64 << 10;

struct RecordOptions {
  std::string file = "-", output, recover = "tail", fsync = "interval", roll_bytes;
  std::int64_t top_k = 0;
};

LogWriterOptions writer_options(const RecordOptions& o) {
  LogWriterOptions options;
  options.fsync = o.fsync == "none" ? Fsync::none : o.fsync == "frame" ? Fsync::frame : Fsync::interval;
  if (!o.roll_bytes.empty()) options.roll_bytes = parse_bytes(o.roll_bytes);
  if (!o.roll_bytes.empty() && options.roll_bytes < kMinRollBytes)
    throw Error(ErrorKind::usage, "--roll-bytes " + o.roll_bytes + " is below 64 KiB", "like --roll-bytes 256MiB");
  return options;
}

void run_record(const RecordOptions& o) {
  if (!names_log(o.output))
    throw Error(ErrorKind::usage, "-o " + o.output + ": a log has a name in .afl",
                "record writes logs; \"afore-trace replay\" and \"head\" write lines");
  const LogWriterOptions options = writer_options(o);
  RecordStream in(o.file, read_options(o.top_k, true), recover_of(o.recover));
  if (options.roll_bytes > 0) check_can_publish(segment_path(o.output, 1), false, "rolled segments need free names");
  RecordSink out(o.output, options);
  in.lines().stop_when(out.interrupted());
  in.lines().on_wait([&] {
    if (!in.lines().ready()) out.flush();  // what came is in the log before we wait for more
  });
  try {
    while (in.next()) {
      if (options.roll_bytes > 0 && !in.header())
        throw Error(ErrorKind::data, in.lines().name() + ": the stream has no header, which every segment repeats",
                    "leave out --roll-bytes");
      out.write_line(in.raw());
    }
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::data) out.finish();  // what came before the bad line is recorded, in good order
    throw;
  }
  out.finish();
}

}  // namespace

void add_record(CLI::App& app) {
  CLI::App* sub = app.add_subcommand("record", "A stream into a log that survives a killed writer");
  auto o = std::make_shared<RecordOptions>();
  sub->add_option("FILE", o->file, "Stream, - is standard input")->capture_default_str();
  sub->add_option("-o,--output", o->output, "The log, a name in .afl that does not exist yet")->required();
  add_choice(*sub, "--fsync", o->fsync,
             "When what was written is forced to the disk: never, at most once a second and at the end, every frame",
             {"none", "interval", "frame"});
  sub->add_option("--roll-bytes", o->roll_bytes,
                  "Go on in another segment (FILE.1.afl, FILE.2.afl, ...) before one gets larger")
      ->type_name("SIZE");
  add_recover(*sub, o->recover);
  add_int(*sub, "--top-k", o->top_k, "Experts per token, for streams without a header", 1, 1024)->default_str("");
  sub->final_callback([o, sub] {
    refuse_terminal_stdin(o->file, *sub);
    run_record(*o);
  });
}

}  // namespace afore::cli
