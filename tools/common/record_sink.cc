#include "common/record_sink.h"

#include "util/error.h"

namespace afore::cli {

void add_output(CLI::App& app, std::string& path) {
  app.add_option("-o,--output", path, "Where the stream goes: a name in .afl is a log, - standard output")
      ->capture_default_str();
}

bool names_log(const std::string& path) { return path.size() > 4 && path.ends_with(".afl"); }

RecordSink::RecordSink(const std::string& path, const LogWriterOptions& options) {
  if (!names_log(path)) {
    text_ = std::make_unique<ByteWriter>(path, true);
    return;
  }
  interrupted_ = catch_interrupts();
  log_ = std::make_unique<LogWriter>(path, options);
}

RecordSink::~RecordSink() {
  if (!log_ || *interrupted_ == 0) return;
  try {
    log_->finish();
  } catch (...) {
    // On the way out of the interrupt, which is what gets reported; nor may a lack of memory end the program here.
  }
}

void RecordSink::write_line(std::string_view line) {
  if (text_) {
    text_->write_line(line);
    return;
  }
  if (*interrupted_ != 0) throw Error(ErrorKind::interrupted, "interrupted");
  log_->write_line(line);
}

void RecordSink::flush() { text_ ? text_->flush() : log_->flush(); }

void RecordSink::finish() { text_ ? text_->finish() : log_->finish(); }

}  // namespace afore::cli
