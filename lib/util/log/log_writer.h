#pragma once
// Writes lines into a log (docs/log-format.md) that stays readable whatever happens to its writer.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace afore {

enum class Fsync {
  none,
  interval,  // at most once a second, at the end of a frame, and at the end of every segment
  frame,     // after every frame
};

struct LogWriterOptions {
  Fsync fsync = Fsync::interval;
  std::int64_t roll_bytes = 0;  // a new segment before one gets larger; 0 = never. The first line is repeated in each
};

// "run.afl" -> "run.2.afl"
std::string segment_path(const std::string& path, std::int64_t segment);

// One frame holds up to 32 KiB of lines. What flush() or a full frame has handed over survives the death of the
// process, and after a sync that of the machine.
class LogWriter {
 public:
  // Creates `path`, which must not exist: Error{io}. The file head is written at once.
  LogWriter(const std::string& path, const LogWriterOptions& options);
  ~LogWriter();  // does not finish: without finish() the log reads as truncated
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  // Without its LF, at most kMaxLineBytes. After a failed write, Error{io} that says what was kept: the file is cut
  // back to its last whole frame, and every later call but finish() throws the same again.
  void write_line(std::string_view line);
  void flush();   // ends the frame that is being filled
  void finish();  // flush, end marker, sync and close; does nothing after a failure or a second time

  std::int64_t lines() const;  // taken so far

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace afore
