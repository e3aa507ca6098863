#pragma once
// One segment's file as its only writer sees it: created, locked, appended to, cut back when an append fails.
#include <cstdint>
#include <string>
#include <string_view>

namespace afore {

class LogFile {
 public:
  // Creates `path`, which must not exist, and holds its lock (flock) until closed. Error{io} with a hint.
  explicit LogFile(std::string path);
  ~LogFile();
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  // All of `bytes` or none of them: after a failed write the file ends where it ended before. Error{io}, whose message
  // is `path: reason` alone.
  void append(std::string_view bytes);
  void sync();             // to the medium; Error{io}
  void close();            // Error{io}
  void remove() noexcept;  // the name too

  const std::string& path() const { return path_; }
  std::int64_t size() const { return size_; }

 private:
  [[noreturn]] void fail(int error) const;
  void lock();

  std::string path_;
  int descriptor_ = -1;
  std::int64_t size_ = 0;
};

// Whether some process holds the lock of the log behind `descriptor`; false where locks are not known.
bool log_is_held(int descriptor);

}  // namespace afore
