// `afore-trace replay`: a stream at the pace of a running system.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <thread>

#include "commands.h"
#include "common/cli.h"
#include "common/record_sink.h"
#include "common/record_stream.h"
#include "util/error.h"

namespace afore::cli {
namespace {

struct ReplayOptions {
  std::string file = "-", output = "-", recover = "tail";
  double interval_ms = 50, speed = 1;
  std::int64_t top_k = 0;
};

// Step s is due (s - first step) * interval / speed after the first one. A late step is not skipped, and later ones
// keep their own due times.
class Pace {
 public:
  explicit Pace(double step_ms) : step_ms_(step_ms) {}

  // True when `step` is a later one than any before and not yet due: then wait() sleeps until it is.
  bool ahead(std::int64_t step) {
    const auto now = Clock::now();
    if (!started_) {
      started_ = true;
      first_ = last_ = step;
      start_ = now;
    }
    if (step <= last_) return false;
    last_ = step;
    const double ms = std::min(step_ms_ * static_cast<double>(step - first_), 1e12);
    due_ = start_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::milli>(ms));
    return due_ > now;
  }
  // In slices, so that a raised `stop` (may be null) is seen soon.
  void wait(const StopFlag* stop) const {
    while (Clock::now() < due_ && (stop == nullptr || *stop == 0))
      std::this_thread::sleep_until(std::min(due_, Clock::now() + std::chrono::milliseconds(200)));
  }

 private:
  using Clock = std::chrono::steady_clock;
  double step_ms_;
  bool started_ = false;
  std::int64_t first_ = 0, last_ = 0;
  Clock::time_point start_, due_;
};

std::optional<std::int64_t> step_of(const Record& record) {
  if (const auto* demand = std::get_if<Demand>(&record)) return demand->target.step;
  if (const auto* batch = std::get_if<Batch>(&record)) return batch->step;
  return std::nullopt;
}

void refuse_aggregate(const Record& record, const std::string& source) {
  const auto* header = std::get_if<Header>(&record);
  if (header != nullptr && header->source == "counts")
    throw Error(ErrorKind::data, source + ": the stream holds summed counts, not steps",
                "draw steps from them: afore-trace import --sample-steps N --tokens B");
}

void run_replay(const ReplayOptions& o) {
  if (!(o.speed > 0) || !std::isfinite(o.speed)) throw Error(ErrorKind::usage, "--speed must be above 0");
  if (!(o.interval_ms >= 0) || !std::isfinite(o.interval_ms))
    throw Error(ErrorKind::usage, "--interval-ms must be 0 or more");
  RecordStream in(o.file, read_options(o.top_k, true), recover_of(o.recover));
  RecordSink out(o.output);
  in.lines().stop_when(out.interrupted());
  in.lines().on_wait([&out] { out.flush(); });
  Pace pace(o.interval_ms / o.speed);
  while (in.next()) {
    const Record& record = in.record();
    refuse_aggregate(record, in.lines().name());
    const auto step = step_of(record);
    if (step && pace.ahead(*step)) {
      out.flush();
      pace.wait(out.interrupted());
    }
    out.write_line(in.raw());
  }
  out.finish();
}

}  // namespace

void add_replay(Command app) {
  Command sub = app.command("replay", "A stream, byte for byte, step by step at a steady pace");
  auto o = std::make_shared<ReplayOptions>();
  sub.option("FILE", o->file, "Stream, - is standard input").show_default();
  add_output(sub, o->output);
  add_recover(sub, o->recover);
  sub.option("--interval-ms", o->interval_ms, "Time from one step to the next at speed 1").show_default();
  sub.option("--speed", o->speed, "How many times as fast").show_default();
  sub.integer("--top-k", o->top_k, "Experts per token, for streams without a header", 1, 1024).hide_default();
  sub.examples({{"Twenty steps a second into the planner",
                 "afore-trace synth --model gpt-oss-20b --steps 5 --tokens 512 > demand.jsonl\n"
                 "afore-trace replay --interval-ms 50 demand.jsonl |\n"
                 "  afore-plan --workers 4 > planned.jsonl"},
                {"The lines of a log, as fast as they can be read",
                 "afore-trace record -o demand.afl demand.jsonl\n"
                 "afore-trace replay --interval-ms 0 demand.afl > lines.jsonl"}});
  sub.on_run([o, app] {
    refuse_terminal_stdin(o->file, app);
    run_replay(*o);
  });
}

}  // namespace afore::cli
