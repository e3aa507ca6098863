#include "common/record_sink.h"

#include "common/signals.h"
#include "util/error.h"

namespace afore::cli {

void add_output(Command app, std::string& path) {
  app.option("-o,--output", path, "Where the stream goes: a name in .afl is a log, - standard output").show_default();
}

bool names_log(const std::string& path) { return path.size() > 4 && path.ends_with(".afl"); }

namespace {

const char* const kRecordsHint = "give another name, or remove it first";

}  // namespace

RecordSink::RecordSink(const std::string& path, const LogWriterOptions& options)
    : progress_("records", kAbsent, path == "-" ? Progress::Output::streams : Progress::Output::at_end) {
  if (!names_log(path)) {
    check_can_publish(path, false, kRecordsHint);
    if (path != "-") {
      interrupted_ = catch_interrupts();  // so that nothing unfinished is left behind
      unfinished_ = std::make_unique<Unfinished>(path);
    }
    text_ = std::make_unique<ByteWriter>(unfinished_ ? unfinished_->name() : path, true);
    return;
  }
  interrupted_ = catch_interrupts();
  log_ = std::make_unique<LogWriter>(path, options);
}

RecordSink::~RecordSink() {
  try {
    if (text_) text_->flush();
    else *interrupted_ != 0 ? log_->finish() : log_->flush();
  } catch (...) {
    // On the way out of another error, which is what gets reported; nor may a lack of memory end the program here.
  }
}

void RecordSink::write_line(std::string_view line) {
  if (interrupted_ != nullptr && *interrupted_ != 0) throw Error(ErrorKind::interrupted, "interrupted");
  text_ ? text_->write_line(line) : log_->write_line(line);
  progress_.add();
}

void RecordSink::flush() { text_ ? text_->flush() : log_->flush(); }

void RecordSink::finish() {
  progress_.finish();
  text_ ? text_->finish() : log_->finish();
  if (unfinished_) unfinished_->move_into_place(kRecordsHint);
}

}  // namespace afore::cli
