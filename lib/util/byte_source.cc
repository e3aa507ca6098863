#include "util/byte_source.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "util/error.h"
#include "util/log/log_format.h"
#include "util/log/log_reader.h"

namespace afore {
namespace {

constexpr std::size_t kReadBytes = 64u << 10;
// A signal between the check of the flag and a blocking read would be noticed only with the next byte; waiting in
// slices bounds that.
constexpr int kWaitSliceMs = 200;

// Whether `size` first bytes can be (or, with 4, are) the start of a zstd or skippable frame.
bool may_be_zstd(const char* bytes, std::size_t size) {
  const auto* b = reinterpret_cast<const unsigned char*>(bytes);
  static constexpr unsigned char kFrame[] = {0x28, 0xB5, 0x2F, 0xFD};
  static constexpr unsigned char kSkippable[] = {0x50, 0x2A, 0x4D, 0x18};
  const std::size_t n = std::min<std::size_t>(size, 4);
  bool frame = true, skippable = true;
  for (std::size_t i = 0; i < n; ++i) {
    frame = frame && b[i] == kFrame[i];
    skippable = skippable && (i == 0 ? (b[i] & 0xF0) == kSkippable[i] : b[i] == kSkippable[i]);
  }
  return frame || skippable;
}

}  // namespace

ByteSource::ByteSource(const std::string& path, std::optional<Recover> log)
    : name_(path == "-" ? "stdin" : path), raw_(kReadBytes), recover_(log) {
  if (path == "-") {
    descriptor_ = STDIN_FILENO;
    return;
  }
  do descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  while (descriptor_ < 0 && errno == EINTR);
  if (descriptor_ < 0) throw Error(ErrorKind::io, "cannot open " + path + ": " + std::strerror(errno));
  owned_ = true;
}

ByteSource::~ByteSource() {
  if (decoder_) ZSTD_freeDCtx(decoder_);
  if (owned_) ::close(descriptor_);
}

void ByteSource::check_stop() const {
  if (stop_ && *stop_) throw Error(ErrorKind::interrupted, "interrupted");
}

std::string ByteSource::place(std::int64_t line) const { return line > 0 ? name_ + ":" + std::to_string(line) : name_; }

void ByteSource::wait_readable() const {
  if (!stop_) return;
  pollfd wait{descriptor_, POLLIN, 0};
  for (;;) {
    check_stop();
    const int ready = ::poll(&wait, 1, kWaitSliceMs);
    if (ready > 0) return;
    if (ready < 0 && errno != EINTR) return;  // read(2) will say what is wrong
  }
}

bool ByteSource::ready() const {
  pollfd now{descriptor_, POLLIN, 0};
  return ::poll(&now, 1, 0) != 0;  // an error counts: read(2) will say what is wrong
}

std::size_t ByteSource::read_descriptor(char* out, std::size_t capacity) {
  if (at_end_) return 0;
  if (hook_) hook_();
  for (;;) {
    wait_readable();
    const ssize_t got = ::read(descriptor_, out, capacity);
    if (got > 0) return static_cast<std::size_t>(got);
    if (got == 0) {
      at_end_ = true;
      return 0;
    }
    if (errno == EAGAIN) {  // a descriptor somebody made non-blocking
      pollfd wait{descriptor_, POLLIN, 0};
      ::poll(&wait, 1, kWaitSliceMs);
    } else if (errno != EINTR) {
      throw Error(ErrorKind::io, "cannot read " + name_ + ": " + std::strerror(errno));
    }
  }
}

bool ByteSource::refill() {
  raw_begin_ = 0;
  raw_end_ = read_descriptor(raw_.data(), raw_.size());
  return raw_end_ > 0;
}

// Whether the bytes read so far are those of a log.
bool ByteSource::is_log(std::size_t first_bytes) const {
  if (!recover_) return false;
  const bool named = name_.size() > 4 && name_.ends_with(".afl");
  if (first_bytes == 0) return named;
  return (named && raw_[0] != '{') || resembles_log({raw_.data(), first_bytes});
}

void ByteSource::detect_form() {
  const auto may_be_log = [this] { return recover_ && resembles_log({raw_.data(), raw_end_}); };
  while ((raw_end_ < 4 && may_be_zstd(raw_.data(), raw_end_)) || (raw_end_ < kLogMagic.size() && may_be_log())) {
    const std::size_t got = read_descriptor(raw_.data() + raw_end_, raw_.size() - raw_end_);
    if (got == 0) break;
    raw_end_ += got;
  }
  form_ = Form::plain;
  if (raw_end_ >= 4 && may_be_zstd(raw_.data(), raw_end_)) form_ = Form::zstd;
  else if (is_log(raw_end_)) form_ = Form::log;
  if (form_ == Form::log) {
    log_ = std::make_unique<LogReader>([this](char* out, std::size_t capacity) { return take_plain(out, capacity); },
                                       name_, *recover_);
  } else if (form_ == Form::zstd) {
    decoder_ = ZSTD_createDCtx();
    if (decoder_ == nullptr) throw std::bad_alloc();
  }
}

std::size_t ByteSource::take_plain(char* out, std::size_t capacity) {
  if (raw_begin_ == raw_end_) return read_descriptor(out, capacity);
  const std::size_t n = std::min(capacity, raw_end_ - raw_begin_);
  std::memcpy(out, raw_.data() + raw_begin_, n);
  raw_begin_ += n;
  return n;
}

std::size_t ByteSource::take_log(char* out, std::size_t capacity) {
  if (log_lines_.empty() && !log_->next(log_lines_)) return 0;
  const std::size_t n = std::min(capacity, log_lines_.size());
  std::memcpy(out, log_lines_.data(), n);
  log_lines_.remove_prefix(n);
  return n;
}

const LogReport* ByteSource::log_report() const { return log_ ? &log_->report() : nullptr; }

std::size_t ByteSource::take_zstd(char* out, std::size_t capacity, std::int64_t line) {
  ZSTD_outBuffer target{out, capacity, 0};
  while (target.pos == 0) {
    if (raw_begin_ == raw_end_ && !output_pending_ && !refill()) {
      if (frame_open_)
        throw Error(ErrorKind::data, place(line) + ": the zstd data ends too early", "the file is cut off");
      return 0;
    }
    ZSTD_inBuffer source{raw_.data() + raw_begin_, raw_end_ - raw_begin_, 0};
    const std::size_t rest = ZSTD_decompressStream(decoder_, &target, &source);
    if (ZSTD_getErrorCode(rest) == ZSTD_error_memory_allocation) throw std::bad_alloc();
    if (ZSTD_isError(rest))
      throw Error(ErrorKind::data, place(line) + ": the zstd data is damaged: " + ZSTD_getErrorName(rest));
    raw_begin_ += source.pos;
    output_pending_ = rest != 0 && target.pos == target.size;
    frame_open_ = rest != 0;
  }
  return target.pos;
}

std::size_t ByteSource::read(char* out, std::size_t capacity, std::int64_t line) {
  if (form_ == Form::unknown) detect_form();
  if (form_ == Form::log) return take_log(out, capacity);
  return form_ == Form::zstd ? take_zstd(out, capacity, line) : take_plain(out, capacity);
}

}  // namespace afore
