#pragma once
// Records with their raw lines, from a file or standard input.
#include <deque>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "common/options.h"
#include "common/progress.h"
#include "util/line_io.h"
#include "wire/wire.h"

namespace afore::cli {

// The record's "kind"; a view into `record` for kinds this version does not know.
std::string_view kind_of(const Record& record);

// `top_k` from a flag, for streams whose header does not say; not positive = not given.
wire::ReadOptions read_options(std::int64_t top_k, bool allow_drop);

// --recover
void add_recover(Command app, std::string& choice);
Recover recover_of(const std::string& choice);

// A warning about what is missing from the log that was read to its end, if it was a log and something is.
void warn_of_losses(const LineReader& lines);

class RecordStream {
 public:
  // `output`: of the command; progress is shown while records are read.
  RecordStream(const std::string& path, const wire::ReadOptions& options, Recover recover,
               Progress::Output output = Progress::Output::streams);

  // False at the end, after a warning about what a damaged log lacks; Error{data} when there was no record at all.
  // `raw` is valid until the next call.
  bool next() {
    if (std::exchange(again_, false)) return true;
    if (!next_line()) {
      end();
      return false;
    }
    advance();
    decoder_.decode(raw_, line_number_, record_);
    return true;
  }
  // Reads on from the present record and shows what comes: records up to the end of the warm-up, or with `steps` > 0 of
  // the first `steps` steps, or 64 MiB of lines. What was read is kept and returned by next() as if nothing had
  // happened, errors too.
  void look_ahead(std::int64_t steps, const std::function<void(const Record&)>& see);
  // An input without records is none that failed: for commands that do without one.
  void may_be_empty() { may_be_empty_ = true; }
  // The next call of next() stays at this record.
  void again() { again_ = true; }
  std::string_view raw() const { return raw_; }
  const Record& record() const { return record_; }
  Record take() { return std::move(record_); }  // the present record, which record() does not have any more
  const std::optional<Header>& header() const { return decoder_.header(); }
  LineReader& lines() { return lines_; }
  std::int64_t line_number() const { return line_number_; }  // of the record, from 1
  // Into the summary of a run, what is missing from its input.
  void note_losses(Summary& summary) const;

 private:
  bool next_line();
  void end();
  void advance() {
    bytes_ += static_cast<std::int64_t>(raw_.size()) + 1;
    const LogReport* report = lines_.log_report();
    progress_.set_part(report == nullptr ? bytes_ : report->stored_bytes, input_bytes_);
    progress_.add();
  }

  LineReader lines_;
  wire::ReadOptions options_;
  wire::RecordDecoder decoder_;
  std::string_view raw_;
  std::int64_t line_number_ = 0;
  std::string held_;               // what raw_ is of, when its line was read ahead
  std::deque<std::string> ahead_;  // lines read ahead
  std::exception_ptr broken_;      // what ended the reading ahead
  Record record_;
  bool again_ = false, may_be_empty_ = false;
  std::int64_t bytes_ = 0, input_bytes_;  // read; of the input, kAbsent where nobody knows
  Progress progress_;
};

}  // namespace afore::cli
