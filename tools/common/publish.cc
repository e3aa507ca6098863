#include "common/publish.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "util/error.h"
#include "util/line_io.h"

namespace afore::cli {

namespace {

[[noreturn]] void fail(const std::string& path, int error) {
  throw Error(ErrorKind::io, fmt::format("{}: {}", path, std::strerror(error)));
}

[[noreturn]] void refuse_existing(const std::string& path, const std::string& hint) {
  throw Error(ErrorKind::io, fmt::format("{}: the file exists and was not touched", path), hint);
}

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// A temporary that is removed unless it was moved away.
class Temporary {
 public:
  explicit Temporary(const std::string& beside) : name_(beside + ".XXXXXX") {
    fd_ = mkstemp(name_.data());
    if (fd_ < 0) fail(beside, errno);
    const mode_t mask = umask(0);
    umask(mask);
    fchmod(fd_, 0666 & ~mask);
  }
  ~Temporary() {
    if (fd_ >= 0) close(fd_);
    unlink(name_.c_str());
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) fail(name_, errno);
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    if (fsync(fd_) != 0 && errno != EINVAL) fail(name_, errno);
    const int fd = fd_;
    fd_ = -1;
    if (close(fd) != 0) fail(name_, errno);
  }
  const char* name() const { return name_.c_str(); }

 private:
  std::string name_;
  int fd_ = -1;
};

// Keeps SIGINT, SIGTERM and SIGHUP pending for as long as it lives.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
    sigprocmask(SIG_BLOCK, &set, &before_);
  }
  ~SignalsHeld() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

void check_can_publish(const std::string& path, bool overwrite, const std::string& hint) {
  if (path == "-") return;
  struct stat status = {};
  if (lstat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) fail(path, EISDIR);
    if (!overwrite) refuse_existing(path, hint);
    // Moving a file into its place would replace the link, the pipe or the device itself.
    if (!S_ISREG(status.st_mode))
      throw Error(ErrorKind::io, fmt::format("{}: it exists and is no regular file", path), "give another name");
  }
  if (access(folder_of(path).c_str(), W_OK) != 0) fail(folder_of(path), errno);
}

namespace {

// The name of the Unfinished that lives, or null: a handler can allocate nothing and take no lock.
std::atomic<const char*> g_unfinished{nullptr};
static_assert(std::atomic<const char*>::is_always_lock_free);

// Ends the process as it would have ended without a handler, once this returns.
void on_broken_pipe(int signal) {
  remove_unfinished();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

void remove_unfinished() noexcept {
  if (const char* name = g_unfinished.load()) ::unlink(name);
}

Unfinished::Unfinished(const std::string& path)
    : path_(path), name_(fmt::format("{}.{}.unfinished", path, ::getpid())) {
  AFORE_CHECK(g_unfinished.load() == nullptr, "one file is unfinished at a time");
  g_unfinished = name_.c_str();
  std::signal(SIGPIPE, on_broken_pipe);
}

Unfinished::~Unfinished() {
  ::unlink(name_.c_str());
  g_unfinished = nullptr;
  std::signal(SIGPIPE, SIG_DFL);
}

void Unfinished::move_into_place(const std::string& hint) {
  // link, unlike rename, refuses a name that has come to exist meanwhile.
  if (::link(name_.c_str(), path_.c_str()) == 0) return;
  if (errno == EEXIST) refuse_existing(path_, hint);
  fail(path_, errno);
}

void publish(const std::string& path, std::string_view bytes, bool overwrite, const std::string& hint) {
  if (path == "-") {
    ByteWriter out(path);
    out.write(bytes);
    out.finish();
    return;
  }
  check_can_publish(path, overwrite, hint);  // it may have come to exist since the caller asked
  const SignalsHeld held;                    // a signal ends the tool once nothing unfinished is left behind
  Temporary temporary(path);
  temporary.write(bytes);
  if (overwrite) {
    if (rename(temporary.name(), path.c_str()) != 0) fail(path, errno);
  } else if (link(temporary.name(), path.c_str()) != 0) {  // link, unlike rename, refuses an existing name
    if (errno == EEXIST) refuse_existing(path, hint);
    fail(path, errno);
  }
}

}  // namespace afore::cli
