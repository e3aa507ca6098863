// `afore-trace record`: a stream into a log, every record checked; or the stream of a model that runs.
#include <memory>
#include <optional>

#include "attach.h"
#include "commands.h"
#include "common/cli.h"
#include "common/parse.h"
#include "common/publish.h"
#include "common/record_sink.h"
#include "common/record_stream.h"
#include "record_model.h"
#include "util/error.h"

namespace afore::cli {
namespace {

constexpr std::int64_t kMinRollBytes = 64 << 10;

struct RecordOptions {
  std::string file = "-", output = "-", recover = "tail", fsync = "interval", roll_bytes;
  std::int64_t top_k = 0;
  RecordModelFlags model;
  AttachFlags attach;
};

LogWriterOptions writer_options(const RecordOptions& o) {
  LogWriterOptions options;
  options.fsync = o.fsync == "none" ? Fsync::none : o.fsync == "frame" ? Fsync::frame : Fsync::interval;
  if (!o.roll_bytes.empty()) options.roll_bytes = parse_bytes(o.roll_bytes, "--roll-bytes");
  if (!o.roll_bytes.empty() && options.roll_bytes < kMinRollBytes)
    throw Error(ErrorKind::usage, "--roll-bytes " + o.roll_bytes + " is below 64 KiB", "like --roll-bytes 256MiB");
  return options;
}

void record_stream(const RecordOptions& o) {
  if (o.output == "-")
    throw Error(ErrorKind::usage, "a stream is recorded into a log: -o FILE.afl is missing",
                "to record from a model that runs, name what it is given: --workload, --prompts, --prompt or --trace");
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

// From a model that runs, here or behind an endpoint.
void record_run(const RecordOptions& o) {
  const LogWriterOptions options = writer_options(o);
  if (!names_log(o.output) && (o.fsync != "interval" || options.roll_bytes > 0))
    throw Error(ErrorKind::usage, "--fsync and --roll-bytes are of logs, and -o " + o.output + " is none",
                "a log has a name in .afl");
  if (options.roll_bytes > 0) check_can_publish(segment_path(o.output, 1), false, "rolled segments need free names");
  RecordSink out(o.output, options);
#ifdef AFORE_WITH_HTTP
  if (!o.attach.url.empty()) return record_endpoint(o.attach, out);
#endif
  record_model(o.model, out);
}

using Options = std::vector<Option>;

std::optional<Option> given(const Options& options) {
  for (const Option& option : options)
    if (option.given()) return option;
  return std::nullopt;
}

// A model or what it is given, named: a model is recorded. Options of the other kind then contradict.
bool is_of_model(Command sub, const Options& of_stream, const Options& of_model) {
  std::optional<Option> names;
  for (const char* name : {"--model", "--workload", "--prompts", "--prompt", "--trace"})
    if (const Option option = sub.option_named(name); option.given()) names = option;
  const std::optional<Option> stray = given(names ? of_stream : of_model);
  if (!stray) return names.has_value();
  if (!names)
    throw Error(ErrorKind::usage, stray->name() + " is for recording from a model that runs",
                "name what it is given: --workload, --prompts, --prompt or --trace");
  throw Error(ErrorKind::usage,
              stray->name() + " is for recording a stream, and " + names->name() + " records from a model",
              "leave one of them out");
}

// What an endpoint's stream does not go with.
void check_attached(const Options& of_stream, const Options& of_model) {
  for (const Options* options : {&of_stream, &of_model})
    for (const Option& option : *options)
      if (option.given() && option.name() != "--steps")
        throw Error(ErrorKind::usage, option.name() + " is not for recording from an endpoint", "leave it out");
}

}  // namespace

void add_record(Command app) {
  Command sub = app.command("record",
                            "A model's batches and demand as it runs, or a stream into a log that "
                            "survives a killed writer");
  auto o = std::make_shared<RecordOptions>();
  Options of_stream;
  of_stream.push_back(sub.option("FILE", o->file, "Stream, - is standard input").show_default());
  sub.option("-o,--output", o->output,
             "Where it goes: a name in .afl is a log; from a model also lines, - is standard output")
      .show_default();
  sub.choice("--fsync", o->fsync,
             "When what was written is forced to the disk: never, at most once a second and at the end, every frame",
             {"none", "interval", "frame"});
  sub.option("--roll-bytes", o->roll_bytes,
             "Go on in another segment (FILE.1.afl, FILE.2.afl, ...) before one gets larger")
      .value_name("SIZE");
  add_recover(sub, o->recover);
  of_stream.push_back(sub.option_named("--recover"));
  of_stream.push_back(
      sub.integer("--top-k", o->top_k, "Experts per token, for streams without a header", 1, 1024).hide_default());
#ifdef AFORE_WITH_HTTP
  const std::string group = "from an endpoint";
  Option attach = sub.option("--attach", o->attach.url,
                             "URL of afore-serve http: the batches and demand of what it serves from now on")
                      .value_name("URL")
                      .under(group);
  sub.option("--token-file", o->attach.token_file, "FILE with the endpoint's token")
      .value_name("FILE")
      .needs(attach)
      .under(group);
#endif
  const std::size_t before = sub.options().size();
  add_record_model_flags(sub, o->model);
  const Options all = sub.options();
  const Options of_model(all.begin() + static_cast<std::ptrdiff_t>(before), all.end());
  sub.examples({{"What the bundled model's router asks for in 10 steps",
                 "afore-trace record --workload mixed --max-concurrency 48 --steps 10 \\\n"
                 "  > demand.jsonl"},
                {"A prompt of one's own, with each token's experts, as a log",
                 "afore-trace record --prompt 'int main(int argc,' --max-tokens 8 --routing \\\n"
                 "  -o routing.afl"},
                {"With what the next layer's gate foretells, a layer ahead",
                 "afore-trace record --workload math --steps 5 --predict gate > foretold.jsonl"},
                {"The stream of another program, kept in segments of 1 MiB",
                 "cat demand.jsonl | afore-trace record --roll-bytes 1MiB -o kept.afl"}});
  sub.on_run([o, sub, of_stream, of_model] {
    if (!o->attach.url.empty()) {
      check_attached(of_stream, of_model);
      o->attach.steps = o->model.steps;
      record_run(*o);
    } else if (is_of_model(sub, of_stream, of_model)) {
      if (o->model.prompts.file == "-") refuse_terminal_stdin("-", sub);
      record_run(*o);
    } else {
      refuse_terminal_stdin(o->file, sub);
      record_stream(*o);
    }
  });
}

}  // namespace afore::cli
