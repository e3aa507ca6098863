#include "util/log/log_writer.h"

#include <fmt/format.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <vector>

#include "util/error.h"
#include "util/line_io.h"
#include "util/log/log_file.h"
#include "util/log/log_format.h"

namespace afore {
namespace {

constexpr int kLevel =
    1;  // in blocks of 32 KiB of records the fastest level also compresses best (docs/performance.md)
constexpr auto kSyncInterval = std::chrono::seconds(1);
static_assert(ZSTD_COMPRESSBOUND(kMaxFrameRawBytes) <= kMaxFramePayloadBytes);

}  // namespace

std::string segment_path(const std::string& path, std::int64_t segment) {
  if (segment == 0) return path;
  const auto dot = path.rfind('.');
  const bool has_suffix = dot != std::string::npos && path.find('/', dot) == std::string::npos;
  return has_suffix ? fmt::format("{}.{}{}", path.substr(0, dot), segment, path.substr(dot))
                    : fmt::format("{}.{}", path, segment);
}

struct LogWriter::Impl {
  Impl(std::string log_path, const LogWriterOptions& how)
      : path(std::move(log_path)), options(how), encoder(ZSTD_createCCtx(), ZSTD_freeCCtx) {
    if (encoder == nullptr) throw std::bad_alloc();
    payload.resize(kMaxFramePayloadBytes);
    file = std::make_unique<LogFile>(path);
    put(*file, encode(FileHead{}));
  }

  std::string frame(FrameType type, std::uint8_t flags, std::int64_t lines_in_frame, std::string_view raw);
  std::string line_frames(FrameType type, std::string_view line, bool counts);
  std::string end_marker(bool continued);
  void put(LogFile& to, std::string_view bytes);
  void put_frames(std::string_view bytes, std::int64_t lines_in_them);
  void put_first_line();
  void flush();
  bool roll_due(std::size_t next_line_bytes) const;
  void roll();
  void sync_when_due();
  void write_line(std::string_view line);
  void finish();
  // Does `act`, unless an earlier one failed; remembers that this one did.
  template <class Act>
  void attempt(Act&& act) {
    if (!failure.empty()) throw Error(ErrorKind::io, failure, hint);
    try {
      act();
    } catch (const Error& error) {
      failure = error.what();
      hint = error.hint();
      throw;
    }
  }

  std::string path;
  LogWriterOptions options;
  std::unique_ptr<LogFile> file;
  std::unique_ptr<ZSTD_CCtx, std::size_t (*)(ZSTD_CCtx*)> encoder;
  std::string payload;     // room for one
  std::string first_line;  // of the log, repeated in every segment
  std::string raw;         // whole lines of the frame being filled
  std::int64_t raw_lines = 0;
  std::int64_t sequence = 0, written_lines = 0, segment = 0;
  std::int64_t segment_sequence = 0;  // of the segment's first frame that is not its copy of the first line
  bool has_first = false, finished = false;
  std::chrono::steady_clock::time_point synced = std::chrono::steady_clock::now();
  std::string failure, hint;
};

// Takes the next sequence number.
std::string LogWriter::Impl::frame(FrameType type, std::uint8_t flags, std::int64_t lines_in_frame,
                                   std::string_view bytes) {
  FrameHead head;
  head.type = static_cast<std::uint8_t>(type);
  head.flags = flags;
  head.lines = static_cast<std::uint16_t>(lines_in_frame);
  head.raw_bytes = static_cast<std::uint32_t>(bytes.size());
  head.sequence = sequence++;
  head.first_line = written_lines;
  std::size_t size = 0;
  if (!bytes.empty()) {
    size = ZSTD_compressCCtx(encoder.get(), payload.data(), payload.size(), bytes.data(), bytes.size(), kLevel);
    if (ZSTD_getErrorCode(size) == ZSTD_error_memory_allocation) throw std::bad_alloc();
    AFORE_CHECK(ZSTD_isError(size) == 0, "a frame could not be compressed");
  }
  return encode(head, std::string_view(payload).substr(0, size));
}

// A line of any length, LF included, as one frame or as parts.
std::string LogWriter::Impl::line_frames(FrameType type, std::string_view line, bool counts) {
  const std::int64_t count = counts ? 1 : 0;
  if (line.size() <= kMaxFrameRawBytes) return frame(type, 0, count, line);
  std::string out;
  for (std::size_t at = 0; at < line.size(); at += kMaxFrameRawBytes) {
    const bool last = at + kMaxFrameRawBytes >= line.size();
    const std::uint8_t part = at == 0 ? kFirstPart : last ? kLastPart : kMiddlePart;
    out += frame(type, part, last ? count : 0, line.substr(at, kMaxFrameRawBytes));
  }
  return out;
}

std::string LogWriter::Impl::end_marker(bool continued) {
  return frame(FrameType::end, continued ? kContinued : 0, 0, {});
}

void LogWriter::Impl::put(LogFile& to, std::string_view bytes) {
  try {
    to.append(bytes);
  } catch (const Error& error) {
    throw Error(
        ErrorKind::io, std::string("cannot write to ") + error.what(),
        fmt::format("{} keeps {} lines ({} bytes) and reads as truncated", file->path(), written_lines, file->size()));
  }
}

void LogWriter::Impl::put_frames(std::string_view bytes, std::int64_t lines_in_them) {
  put(*file, bytes);
  written_lines += lines_in_them;
  sync_when_due();
}

void LogWriter::Impl::sync_when_due() {
  if (options.fsync == Fsync::none) return;
  const auto now = std::chrono::steady_clock::now();
  if (options.fsync == Fsync::interval && now - synced < kSyncInterval) return;
  file->sync();
  synced = now;
}

// Twice, so that losing one copy loses nothing.
void LogWriter::Impl::put_first_line() {
  const std::string first = line_frames(FrameType::head, first_line, true);
  put_frames(first + line_frames(FrameType::head, first_line, true), 1);
  segment_sequence = sequence;
}

void LogWriter::Impl::flush() {
  if (raw.empty()) return;
  put_frames(frame(FrameType::lines, 0, raw_lines, raw), raw_lines);
  raw.clear();
  raw_lines = 0;
}

bool LogWriter::Impl::roll_due(std::size_t next_line_bytes) const {
  if (options.roll_bytes == 0 || sequence == segment_sequence) return false;  // a segment has at least one frame
  const std::size_t next = std::max(next_line_bytes, kMaxFramePayloadBytes) + 2 * kFrameHeadBytes;
  return file->size() + static_cast<std::int64_t>(next) > options.roll_bytes;
}

// The next segment stands, first line and all, before this one says that it goes on.
void LogWriter::Impl::roll() {
  auto next = std::make_unique<LogFile>(segment_path(path, segment + 1));
  try {
    const std::string marker = end_marker(true);
    FileHead head;
    head.segment = segment + 1;
    head.first_line = written_lines;
    head.first_sequence = sequence;
    std::string bytes = encode(head);
    for (int copy = 0; copy < 2; ++copy) bytes += line_frames(FrameType::head, first_line, false);
    put(*next, bytes);
    put(*file, marker);
    if (options.fsync != Fsync::none) file->sync();
    file->close();
  } catch (...) {
    next->remove();
    throw;
  }
  file = std::move(next);
  ++segment;
  segment_sequence = sequence;
}

void LogWriter::Impl::write_line(std::string_view line) {
  AFORE_CHECK(line.size() <= kMaxLineBytes && !finished, "a line that no log holds");
  if (!has_first) {
    has_first = true;
    first_line.assign(line).append("\n");
    put_first_line();
    return;
  }
  const std::size_t line_bytes = line.size() + 1;
  if (raw.size() + line_bytes > kMaxFrameRawBytes) {
    flush();
    if (roll_due(line_bytes)) roll();
  }
  if (line_bytes > kMaxFrameRawBytes) {
    put_frames(line_frames(FrameType::lines, std::string(line) + "\n", true), 1);
    return;
  }
  raw.append(line).append("\n");
  ++raw_lines;
}

void LogWriter::Impl::finish() {
  flush();
  put(*file, end_marker(false));
  if (options.fsync != Fsync::none) file->sync();
  file->close();
  finished = true;
}

LogWriter::LogWriter(const std::string& path, const LogWriterOptions& options)
    : impl_(std::make_unique<Impl>(path, options)) {}
LogWriter::~LogWriter() = default;

void LogWriter::write_line(std::string_view line) {
  impl_->attempt([&] { impl_->write_line(line); });
}

void LogWriter::flush() {
  impl_->attempt([&] { impl_->flush(); });
}

void LogWriter::finish() {
  if (!impl_->finished && impl_->failure.empty()) impl_->attempt([&] { impl_->finish(); });
}

std::int64_t LogWriter::lines() const { return impl_->written_lines + impl_->raw_lines; }

}  // namespace afore
