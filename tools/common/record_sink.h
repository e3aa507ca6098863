#pragma once
// Where a command's stream goes: standard output, a file of JSON lines, or a log.
#include <memory>
#include <string>
#include <string_view>

#include "common/options.h"
#include "common/progress.h"
#include "common/publish.h"
#include "util/line_io.h"
#include "util/log/log_writer.h"
#include "util/stop_flag.h"

namespace afore::cli {

// -o FILE
void add_output(Command app, std::string& path);

bool names_log(const std::string& path);  // ends in .afl

// "-" is standard output, a name in .afl a log, anything else a file of lines, which has its name only once it is
// whole. A file that exists is Error{io}. While a file is written, SIGINT and SIGTERM end it in good order:
// write_line() then throws Error{interrupted}.
class RecordSink {
 public:
  explicit RecordSink(const std::string& path, const LogWriterOptions& options = {});
  // Whole lines that were written get out, also when an error ends the command; the log of an interrupted run is ended
  // in good order, any other one reads as truncated. Call finish() and see errors.
  ~RecordSink();
  RecordSink(const RecordSink&) = delete;
  RecordSink& operator=(const RecordSink&) = delete;

  void write_line(std::string_view line);
  // How far the command is, for the progress it shows unless it reads a RecordStream, which then shows its own.
  void set_part(std::int64_t done, std::int64_t total) { progress_.set_part(done, total); }
  void flush();
  void finish();  // Error{io} when the data did not get out

  // Null where standard output is written: to be given to the reader of the input, so that a wait ends too.
  const StopFlag* interrupted() const { return interrupted_; }

 private:
  std::unique_ptr<Unfinished> unfinished_;  // where text_ goes to a file
  std::unique_ptr<ByteWriter> text_;
  std::unique_ptr<LogWriter> log_;
  const StopFlag* interrupted_ = nullptr;
  Progress progress_;
};

}  // namespace afore::cli
