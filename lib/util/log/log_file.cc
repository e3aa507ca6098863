#include "util/log/log_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "util/error.h"

namespace afore {
namespace {

// A `check` that looks whether somebody holds the lock has it for a moment.
constexpr int kLockTries = 20;
constexpr unsigned kLockPauseUs = 5000;

}  // namespace

LogFile::LogFile(std::string path) : path_(std::move(path)) {
  do descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
  while (descriptor_ < 0 && errno == EINTR);
  if (descriptor_ < 0 && errno == EEXIST)
    throw Error(ErrorKind::io, path_ + ": the file exists and was not touched",
                "a log is never written to twice: give another name, or remove it first");
  if (descriptor_ < 0) fail(errno);
  lock();
}

LogFile::~LogFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void LogFile::fail(int error) const { throw Error(ErrorKind::io, path_ + ": " + std::strerror(error)); }

void LogFile::lock() {
  for (int i = 0; i < kLockTries; ++i) {
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
    if (errno != EWOULDBLOCK && errno != EINTR) return;  // a file system without locks: O_EXCL alone must do
    ::usleep(kLockPauseUs);
  }
  throw Error(ErrorKind::io, path_ + ": another process holds the lock of the new log");
}

void LogFile::append(std::string_view bytes) {
  for (std::string_view left = bytes; !left.empty();) {
    const ssize_t put = ::write(descriptor_, left.data(), left.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) {
      const int error = put == 0 ? ENOSPC : errno;
      // Where this fails too, a torn frame stays at the end, which reads as truncated all the same.
      [[maybe_unused]] const int cut = ::ftruncate(descriptor_, size_);
      fail(error);
    }
    left.remove_prefix(static_cast<std::size_t>(put));
  }
  size_ += static_cast<std::int64_t>(bytes.size());
}

void LogFile::sync() {
  while (::fdatasync(descriptor_) != 0) {
    if (errno == EINVAL || errno == EROFS) return;  // nothing there that could be synced
    if (errno != EINTR) fail(errno);
  }
}

void LogFile::close() {
  const int descriptor = std::exchange(descriptor_, -1);
  if (descriptor >= 0 && ::close(descriptor) != 0 && errno != EINTR) fail(errno);
}

void LogFile::remove() noexcept {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  ::unlink(path_.c_str());
}

bool log_is_held(int descriptor) {
  if (::flock(descriptor, LOCK_SH | LOCK_NB) != 0) return errno == EWOULDBLOCK;
  ::flock(descriptor, LOCK_UN);
  return false;
}

}  // namespace afore
