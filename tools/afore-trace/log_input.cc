#include "log_input.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "util/error.h"
#include "util/log/log_file.h"

namespace afore::cli {
namespace {

int open_input(const std::string& path) {
  if (path == "-") return STDIN_FILENO;
  int descriptor = -1;
  do descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  while (descriptor < 0 && errno == EINTR);
  if (descriptor < 0) throw Error(ErrorKind::io, "cannot open " + path + ": " + std::strerror(errno));
  return descriptor;
}

}  // namespace

LogInput::LogInput(const std::string& path, Recover recover, const StopFlag* stop)
    : name_(path == "-" ? "stdin" : path),
      descriptor_(open_input(path)),
      stop_(stop),
      reader_([this](char* out, std::size_t capacity) { return read(out, capacity); }, name_, recover) {}

LogInput::~LogInput() {
  if (descriptor_ != STDIN_FILENO) ::close(descriptor_);
}

bool LogInput::held() const { return log_is_held(descriptor_); }

std::size_t LogInput::read(char* out, std::size_t capacity) {
  for (;;) {
    if (stop_ != nullptr && *stop_ != 0) throw Error(ErrorKind::interrupted, "interrupted");
    const ssize_t got = ::read(descriptor_, out, capacity);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) throw Error(ErrorKind::io, "cannot read " + name_ + ": " + std::strerror(errno));
  }
}

}  // namespace afore::cli
