// `afore-trace merge`: segments and logs of one stream, one behind the other.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "commands.h"
#include "common/messages.h"
#include "common/record_sink.h"
#include "common/record_stream.h"
#include "util/error.h"

namespace afore::cli {
namespace {

struct MergeOptions {
  std::vector<std::string> files;
  std::string output = "-", recover = "tail";
};

class Merge {
 public:
  Merge(const MergeOptions& o, RecordSink& out) : recover_(recover_of(o.recover)), out_(out) {}

  void add(const std::string& path) {
    LineReader in(path, recover_);
    in.stop_when(out_.interrupted());
    std::string_view line;
    bool first = true;
    while (in.next(line)) {
      const LogReport* report = in.log_report();
      const bool head = first && (report == nullptr || report->has_head);
      if (first) check_follows(in);
      if (head) check_head(in, line);
      if (!head || !wrote_any_) out_.write_line(line);
      wrote_any_ = true;
      first = false;
    }
    const LogReport* report = in.log_report();
    if (report != nullptr && (report->corrupt() || !report->ended)) warn_of_losses(in);
    before_ = report != nullptr ? std::optional<LogReport>(*report) : std::nullopt;
    before_name_ = in.name();
  }

  // The last one must not say that more follows.
  void finish() const {
    if (before_ && before_->continued)
      warn(before_name_ + ": the log goes on in its next segment, which was not given");
  }

 private:
  void check_head(const LineReader& in, std::string_view line) {
    if (!head_) head_ = line;
    else if (*head_ != line)
      throw Error(ErrorKind::data, in.name() + ":1: the first line is not that of the log before",
                  "only logs of one stream can be joined");
  }

  // What a log's head says is known once its first line was read.
  void check_follows(const LineReader& in) const {
    const LogReport* report = in.log_report();
    const std::int64_t segment = report != nullptr ? report->segment : 0;
    const bool goes_on = before_ && before_->continued;
    if (!goes_on && segment == 0) return;
    std::string gap;
    if (!goes_on) gap = fmt::format("it is segment {}, and segment {} is not in front of it", segment, segment - 1);
    else if (segment != before_->segment + 1)
      gap = fmt::format("it is segment {}, where segment {} should follow", segment, before_->segment + 1);
    else if (report->first_line != before_->next_line)
      gap = fmt::format("it goes on after {} lines, the segment before ends after {}", report->first_line,
                        before_->next_line);
    if (gap.empty()) return;
    if (recover_ != Recover::skip)
      throw Error(ErrorKind::data, in.name() + ": " + gap, "give all segments in order, or --recover skip");
    warn(in.name() + ": " + gap);
  }

  Recover recover_;
  RecordSink& out_;
  std::optional<std::string> head_;  // the first line of all logs, once one was found that has it
  std::string before_name_;
  bool wrote_any_ = false;
  std::optional<LogReport> before_;
};

void run_merge(const MergeOptions& o) {
  RecordSink out(o.output);
  Merge merge(o, out);
  for (const std::string& file : o.files) merge.add(file);
  merge.finish();
  out.finish();
}

}  // namespace

void add_merge(Command app) {
  Command sub = app.command("merge", "Segments of a log, or logs with equal first lines, as one stream");
  auto o = std::make_shared<MergeOptions>();
  sub.option("FILE", o->files, "Logs, in order").required();
  add_output(sub, o->output);
  add_recover(sub, o->recover);
  sub.examples({{"The segments of one log, as lines",
                 "afore-trace synth --model gpt-oss-20b --steps 40 --tokens 512 |\n"
                 "  afore-trace record --roll-bytes 64KiB -o run.afl\n"
                 "afore-trace merge run.afl run.*.afl > run.jsonl"},
                {"The same as one log", "afore-trace merge -o one.afl run.afl run.*.afl"}});
  sub.on_run([o] { run_merge(*o); });
}

}  // namespace afore::cli
