// `afore-trace predict`: predictions of the next layers' demand into a stream that has its routing.
#include <memory>

#include "commands.h"
#include "common/cli.h"
#include "common/messages.h"
#include "common/predict_stage.h"
#include "common/record_sink.h"
#include "common/record_stream.h"
#include "predict_stat.h"
#include "util/error.h"
#include "util/line_io.h"

namespace afore::cli {
namespace {

struct PredictOptions {
  std::string file = "-", output = "-", recover = "tail";
  PredictFlags predict;
  bool stat = false, json = false;
};

// The end of a stream without anything to predict from is the place to say so: nothing that came before was wrong.
void warn_of_nothing(std::int64_t predictions, const std::string& source) {
  if (predictions == 0)
    warn(source +
         ": there is no routing in it, so nothing was predicted (record --routing and import --rows write it)");
}

void run_stat(const PredictOptions& o) {
  RecordStream in(o.file, read_options(0, true), recover_of(o.recover), Progress::Output::at_end);
  PredictStage stage(in, o.predict);
  PredictStat stat;
  while (stage.next()) stat.add(stage.record());
  ByteWriter out("-");
  out.write(o.json ? stat.json() : stat.table());
  out.finish();
}

void run_predict(const PredictOptions& o) {
  RecordStream in(o.file, read_options(0, true), recover_of(o.recover));
  RecordSink out(o.output);
  in.lines().stop_when(out.interrupted());
  in.lines().on_wait([&out] { out.flush(); });
  PredictStage stage(in, o.predict);
  std::int64_t predictions = 0;
  bool header_is_out = false;
  while (stage.next()) {
    const bool first_header = !header_is_out && std::holds_alternative<Header>(stage.record());
    header_is_out = header_is_out || first_header;
    if (first_header) out.write_line(wire::extend_header(stage.raw(), {}, producer("afore-trace")));
    else out.write_line(stage.raw());
    predictions += stage.predicted();
  }
  warn_of_nothing(predictions, in.lines().name());
  out.finish();
}

}  // namespace

void add_predict(Command app) {
  Command sub = app.command("predict", "Predictions of the next layers' demand into a stream with routing");
  auto o = std::make_shared<PredictOptions>();
  sub.option("FILE", o->file, "Stream, - is standard input").show_default();
  add_output(sub, o->output);
  add_recover(sub, o->recover);
  sub.option("--predictor", o->predict.file, "File that train-predictor wrote").value_name("FILE");
  sub.integer("--layers-ahead", o->predict.layers_ahead, "Predict so many MoE layers behind each one", 1, 1024);
  sub.flag("--stat", o->stat,
           "No stream, but how well predictions met the demand: those of --predictor, or without one those that "
           "are in the stream");
  sub.flag("--json", o->json, "With --stat: one object");
  sub.examples({{"A predictor of the bundled model, and its predictions",
                 "model=${AFORE_DATA:-/usr/share/afore}/models/tiny\n"
                 "afore-trace record --routing --workload math --steps 40 > routed.jsonl\n"
                 "afore-trace train-predictor -q routed.jsonl -o tiny.predictor \\\n"
                 "  --features $model --epochs 2 --hidden 16\n"
                 "afore-trace predict routed.jsonl --predictor tiny.predictor > predicted.jsonl"},
                {"How well they met the demand", "afore-trace predict --stat predicted.jsonl"}});
  sub.on_run([o, app] {
    refuse_terminal_stdin(o->file, app);
    if (o->predict.file.empty() && !o->stat)
      throw Error(ErrorKind::usage, "--predictor is missing", "afore-trace train-predictor makes one");
    if (o->json && !o->stat) throw Error(ErrorKind::usage, "--json goes with --stat");
    o->stat ? run_stat(*o) : run_predict(*o);
  });
}

}  // namespace afore::cli
