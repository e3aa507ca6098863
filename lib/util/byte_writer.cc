#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "util/error.h"
#include "util/line_io.h"

namespace afore {
namespace {

constexpr std::size_t kBufferBytes = 256u << 10;

}  // namespace

struct ByteWriter::Impl {
  void write_out(const char* bytes, std::size_t size);
  void flush();
  [[noreturn]] void fail() { throw Error(ErrorKind::io, "cannot write to " + name + ": " + std::strerror(errno)); }

  std::string name;
  int descriptor = -1;
  bool owned = false;
  std::string buffer;
};

void ByteWriter::Impl::write_out(const char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t put = ::write(descriptor, bytes, size);
    if (put == 0) {  // a device that takes nothing and says nothing: trying again would be for ever
      errno = ENOSPC;
      fail();
    }
    if (put > 0) {
      bytes += put;
      size -= static_cast<std::size_t>(put);
    } else if (errno == EAGAIN) {
      pollfd wait{descriptor, POLLOUT, 0};
      ::poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      fail();
    }
  }
}

void ByteWriter::Impl::flush() {
  if (buffer.empty()) return;
  write_out(buffer.data(), buffer.size());
  buffer.clear();
}

ByteWriter::ByteWriter(const std::string& path, bool exclusive) : impl_(std::make_unique<Impl>()) {
  impl_->name = path == "-" ? "stdout" : path;
  impl_->buffer.reserve(kBufferBytes);
  if (path == "-") {
    impl_->descriptor = STDOUT_FILENO;
    return;
  }
  struct stat status {};
  if (exclusive && ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) exclusive = false;
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (exclusive ? O_EXCL : O_TRUNC);
  do impl_->descriptor = ::open(path.c_str(), flags, 0666);
  while (impl_->descriptor < 0 && errno == EINTR);
  if (impl_->descriptor < 0 && errno == EEXIST && exclusive)
    throw Error(ErrorKind::io, path + ": the file exists and was not touched", "give another name, or remove it first");
  if (impl_->descriptor < 0) impl_->fail();
  impl_->owned = true;
}

ByteWriter::~ByteWriter() {
  if (impl_->owned) ::close(impl_->descriptor);
}

void ByteWriter::write(std::string_view bytes) {
  Impl& out = *impl_;
  if (out.buffer.size() + bytes.size() > kBufferBytes) out.flush();
  if (bytes.size() >= kBufferBytes) out.write_out(bytes.data(), bytes.size());
  else out.buffer.append(bytes);
}

// A line is never parted from its end: whatever stops the program later, whole lines are out.
void ByteWriter::write_line(std::string_view line) {
  Impl& out = *impl_;
  if (out.buffer.size() + line.size() + 1 > kBufferBytes) out.flush();
  if (line.size() + 1 > kBufferBytes) {
    out.write_out(line.data(), line.size());
    out.write_out("\n", 1);
  } else {
    out.buffer.append(line) += '\n';
  }
}

void ByteWriter::flush() { impl_->flush(); }

void ByteWriter::finish() {
  Impl& out = *impl_;
  out.flush();
  if (!out.owned) return;
  out.owned = false;
  if (::close(out.descriptor) != 0 && errno != EINTR) out.fail();
}

}  // namespace afore
