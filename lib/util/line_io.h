#pragma once
// Lines in and bytes out, over files and pipes, in bounded memory. zstd input and logs (docs/log-format.md) are
// recognised by their magic.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "util/log/log_report.h"
#include "util/stop_flag.h"

namespace afore {

inline constexpr std::size_t kMaxLineBytes = 16u << 20;

// Reads LF-terminated lines. "-" is standard input. Owns the descriptor it opened.
class LineReader {
 public:
  // Error{io} when it cannot be opened. `recover`: what to do where the input is a damaged log.
  explicit LineReader(const std::string& path, Recover recover = Recover::tail);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // The next line without its LF; the view is valid until the next call. False at the end of input.
  // A line over kMaxLineBytes, or a last line without LF (truncated), is Error{data}; a failed read is Error{io}.
  // A truncated last line is reported only after all whole lines were returned, and so is damage in a log: Error{data}.
  bool next(std::string_view& line);

  // From now on a last line without LF is a line: of texts that people write, not of streams, where it is cut off.
  void take_unended();

  std::int64_t line_number() const;  // of the line last returned, from 1
  const std::string& name() const;   // "stdin" or the path, for messages
  // Null where the input is no log; complete once next() has returned false.
  const LogReport* log_report() const;
  // Whether bytes of the input are there to be read at once (or its end). For use in the hook.
  bool ready() const;
  // Called before every read that may block: the moment to flush output, since no whole line is waiting.
  void on_wait(std::function<void()> hook);
  // Makes a blocked or later next() throw Error{interrupted} once `*flag` is non-zero (set by a signal handler that
  // interrupts read(2)). The flag must outlive the reader.
  void stop_when(const StopFlag* flag);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Buffered, checked output to a descriptor ("-" = standard output). Every failed write is Error{io}; EPIPE follows
// SIGPIPE's default, so a filter before `head` dies quietly.
class ByteWriter {
 public:
  // With `exclusive` a file that exists is Error{io} and stays as it is; pipes and devices are written to.
  explicit ByteWriter(const std::string& path, bool exclusive = false);
  ~ByteWriter();  // does not flush: call finish() and see errors
  ByteWriter(const ByteWriter&) = delete;
  ByteWriter& operator=(const ByteWriter&) = delete;

  void write(std::string_view bytes);
  void write_line(std::string_view line);  // adds LF
  void flush();
  void finish();  // flush, and close when the writer opened it; Error{io} when the data did not get out

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// A whole file, decompressed when it carries the zstd magic. At most `max_bytes` after decompression: Error{data}.
std::vector<std::uint8_t> read_file_bytes(const std::string& path, std::size_t max_bytes);

}  // namespace afore
