#pragma once
// Records with their raw lines, from a file or standard input.
#include <string>
#include <string_view>
#include <utility>

#include "common/cli.h"
#include "util/line_io.h"
#include "wire/wire.h"

namespace afore::cli {

// The record's "kind"; a view into `record` for kinds this version does not know.
std::string_view kind_of(const Record& record);

// `top_k` from a flag, for streams whose header does not say; not positive = not given.
wire::ReadOptions read_options(std::int64_t top_k, bool allow_drop);

// --recover
void add_recover(CLI::App& app, std::string& choice);
Recover recover_of(const std::string& choice);

// A warning about what is missing from the log that was read to its end, if it was a log and something is.
void warn_of_losses(const LineReader& lines);

class RecordStream {
 public:
  RecordStream(const std::string& path, const wire::ReadOptions& options, Recover recover)
      : lines_(path, recover), decoder_(lines_.name(), options) {}

  // False at the end, after a warning about what a damaged log lacks. `raw` is valid until the next call.
  bool next() {
    if (std::exchange(again_, false)) return true;
    if (!lines_.next(raw_)) {
      warn_of_losses(lines_);
      return false;
    }
    decoder_.decode(raw_, lines_.line_number(), record_);
    return true;
  }
  // The next call of next() stays at this record.
  void again() { again_ = true; }
  std::string_view raw() const { return raw_; }
  const Record& record() const { return record_; }
  const std::optional<Header>& header() const { return decoder_.header(); }
  LineReader& lines() { return lines_; }
  // Into the summary of a run, what is missing from its input.
  void note_losses(Summary& summary) const;

 private:
  LineReader lines_;
  wire::RecordDecoder decoder_;
  std::string_view raw_;
  Record record_;
  bool again_ = false;
};

}  // namespace afore::cli
