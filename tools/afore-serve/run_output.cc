#include "afore-serve/run_output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "common/report_file.h"
#include "report/run_pictures.h"
#include "util/error.h"

namespace afore::serve {
namespace {

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::string ms(const std::optional<double>& value) { return value ? fmt::format("{:.2f}", *value) : "-"; }

}  // namespace

RunOutput::RunOutput(bool json, std::size_t requests, const std::string& record, const std::string& report)
    : json_(json || isatty(STDOUT_FILENO) == 0),
      live_(!json_ && requests == 1),
      started_s_(now_s()),
      // Answers to several prompts go to a terminal one by one, and the line gives way to each; one that grows has
      // none.
      progress_("requests", static_cast<std::int64_t>(requests),
                live_ ? cli::Progress::Output::streams : cli::Progress::Output::at_end),
      record_name_(record),
      report_name_(report) {
  cli::check_report(report);
  if (!report.empty()) report_ = std::make_unique<report::RunData>();
  if (!record.empty()) stream_ = std::make_unique<cli::RecordSink>(record);
}

void RunOutput::write(std::string_view line) {
  try {
    stream_->write_line(line);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::interrupted) throw;
    cut_ = true;
  }
}

void RunOutput::text(std::string_view text, bool last) {
  if (!live_ || (text.empty() && !last)) return;
  out_.write(text);
  if (last) out_.write("\n");
  out_.flush();
}

void RunOutput::completion(const Completion& completion) {
  tokens_ += completion.output_tokens;
  record(completion);
  cli::erase_progress();
  if (json_) {
    out_.write_line(wire::to_json(completion));
    out_.flush();
  } else if (!live_) {
    out_.write(fmt::format("== {} ({})\n{}\n", completion.id, completion.finish_reason, completion.text));
    out_.flush();
  }
  progress_.note = fmt::format("{:.0f} tok/s", static_cast<double>(tokens_) / std::max(1e-3, now_s() - started_s_));
  progress_.add();
}

void RunOutput::say(const Summary& s) const {
  fmt::print(stderr,
             "{} requests, {} prompt and {} output tokens in {:.2f} s: {:.1f} output tok/s\n"
             "TTFT {} ms (p95 {}), TPOT {} ms, ITL {} ms (p95 {}); {} copies of experts, {} exposed targets\n",
             s.completed.value_or(0), s.total_input_tokens.value_or(0), s.total_output_tokens.value_or(0),
             s.duration.value_or(0), s.output_throughput.value_or(0), ms(s.ttft.mean), ms(s.ttft.p95), ms(s.tpot.mean),
             ms(s.itl.mean), ms(s.itl.p95), s.copies, s.exposed_targets);
}

void RunOutput::finish(const Summary& summary) {
  progress_.finish();
  record(summary);
  // Files first: who reads standard output may be gone, which ends the process.
  if (stream_ && !cut_) stream_->finish();
  if (report_) {
    report_->finish();
    cli::publish_report(report_name_, report::run_page(*report_, report::kViews, {}));
  }
  if (json_) out_.write_line(wire::to_json(summary));
  else if (!live_ || isatty(STDERR_FILENO) == 1) say(summary);
  out_.finish();
  if (cut_)
    throw Error(ErrorKind::interrupted, "interrupted",
                cli::names_log(record_name_) ? "" : record_name_ + " was not written: under a name in .afl it is kept");
}

}  // namespace afore::serve
