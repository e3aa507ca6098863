#pragma once
// Reads a log (docs/log-format.md): the lines of frames that were verified whole, in order, each at most once. Memory
// is bounded by the longest line (kMaxLineBytes) and a few frames, time is linear in the input, whatever the input
// holds.
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "util/log/log_report.h"
#include "util/log/log_window.h"

namespace afore {

class LogReader {
 public:
  // `name` is for messages only.
  LogReader(ByteRead read, std::string name, Recover recover);
  ~LogReader();
  LogReader(const LogReader&) = delete;
  LogReader& operator=(const LogReader&) = delete;

  // The next lines, LF included; the view is valid until the next call. False at the end of the log.
  // Error{data}: damage that `recover` does not allow, a log of another version, an input that is no log. It is thrown
  // after everything verified before it was handed out.
  bool next(std::string_view& lines);

  // Complete once next() has returned false.
  const LogReport& report() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The same over bytes in memory, line by line (without LF). Errors as above.
LogReport read_log(std::string_view bytes, Recover recover, const std::function<void(std::string_view line)>& on_line);

}  // namespace afore
