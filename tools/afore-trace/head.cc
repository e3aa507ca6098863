// `afore-trace head`: the first targets of a stream, with everything that belongs to them.
#include <memory>

#include "commands.h"
#include "common/cli.h"
#include "common/record_sink.h"
#include "common/record_stream.h"

namespace afore::cli {
namespace {

struct HeadOptions {
  std::string file = "-", output = "-", recover = "tail";
  std::int64_t targets = 10, top_k = 0;
};

// Ends before the next target's demand, or before the batch record that announces it.
void run_head(const HeadOptions& o) {
  RecordStream in(o.file, read_options(o.top_k, true), recover_of(o.recover));
  RecordSink out(o.output);
  in.lines().stop_when(out.interrupted());
  in.lines().on_wait([&out] { out.flush(); });
  std::int64_t seen = 0;
  while (in.next()) {
    const Record& record = in.record();
    const bool demand = std::holds_alternative<Demand>(record);
    if (seen == o.targets && (demand || std::holds_alternative<Batch>(record))) break;
    seen += demand;
    out.write_line(in.raw());
  }
  out.finish();
}

}  // namespace

void add_head(Command app) {
  Command sub = app.command("head", "The first targets of a stream");
  auto o = std::make_shared<HeadOptions>();
  sub.option("FILE", o->file, "Stream, - is standard input").show_default();
  add_output(sub, o->output);
  add_recover(sub, o->recover);
  sub.integer("-n,--targets", o->targets, "Targets to keep, with the header and all records before the next one");
  sub.integer("--top-k", o->top_k, "Experts per token, for streams without a header", 1, 1024).hide_default();
  sub.examples({{"The first 10 targets, with the header",
                 "afore-trace synth --model gpt-oss-20b --steps 20 --tokens 512 > demand.jsonl\n"
                 "afore-trace head -n 10 demand.jsonl > first.jsonl"},
                {"The same as a log", "afore-trace head -n 10 -o first.afl demand.jsonl"}});
  sub.on_run([o, app] {
    refuse_terminal_stdin(o->file, app);
    run_head(*o);
  });
}

}  // namespace afore::cli
