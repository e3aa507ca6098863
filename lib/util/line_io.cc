#include "util/line_io.h"

#include <algorithm>
#include <cstring>

#include "util/byte_source.h"
#include "util/error.h"

namespace afore {
namespace {

constexpr std::size_t kFirstBufferBytes = 64u << 10;

}  // namespace

struct LineReader::Impl {
  Impl(const std::string& path, Recover recover) : source(path, recover), buffer(kFirstBufferBytes) {}

  bool read_more();

  ByteSource source;
  std::vector<char> buffer;
  std::size_t begin = 0, end = 0;  // bytes not yet returned
  std::size_t scanned = 0;         // no LF in [begin, scanned)
  bool takes_unended = false;
  std::int64_t line = 0;
};

// False at the end of input. Makes room first: moves the rest to the front, or doubles the buffer up to the cap.
bool LineReader::Impl::read_more() {
  if (end - begin > kMaxLineBytes)
    throw Error(ErrorKind::data, source.name() + ":" + std::to_string(line + 1) + ": the line is longer than 16 MiB",
                "records are one JSON object per line");
  if (begin > 0 && (begin == end || end == buffer.size())) {
    std::memmove(buffer.data(), buffer.data() + begin, end - begin);
    scanned -= begin;
    end -= begin;
    begin = 0;
  }
  if (end == buffer.size()) buffer.resize(std::min(2 * buffer.size(), kMaxLineBytes + kFirstBufferBytes));
  const std::size_t got = source.read(buffer.data() + end, buffer.size() - end, line + 1);
  end += got;
  return got > 0;
}

LineReader::LineReader(const std::string& path, Recover recover) : impl_(std::make_unique<Impl>(path, recover)) {}
LineReader::~LineReader() = default;

bool LineReader::next(std::string_view& line) {
  Impl& in = *impl_;
  in.source.check_stop();
  for (;;) {
    const char* start = in.buffer.data() + in.begin;
    const void* found = std::memchr(in.buffer.data() + in.scanned, '\n', in.end - in.scanned);
    if (found) {
      const auto size = static_cast<std::size_t>(static_cast<const char*>(found) - start);
      if (size > kMaxLineBytes) in.read_more();  // throws
      line = {start, size};
      in.begin += size + 1;
      in.scanned = in.begin;
      ++in.line;
      return true;
    }
    in.scanned = in.end;
    if (in.read_more()) continue;
    if (in.begin == in.end) return false;
    if (in.takes_unended) {
      line = {in.buffer.data() + in.begin, in.end - in.begin};
      in.begin = in.scanned = in.end;
      ++in.line;
      return true;
    }
    throw Error(ErrorKind::data, in.source.name() + ":" + std::to_string(in.line + 1) + ": the last line is cut off",
                "it has no newline at its end; was the writer stopped?");
  }
}

void LineReader::take_unended() { impl_->takes_unended = true; }
std::int64_t LineReader::line_number() const { return impl_->line; }
const std::string& LineReader::name() const { return impl_->source.name(); }
const LogReport* LineReader::log_report() const { return impl_->source.log_report(); }
bool LineReader::ready() const { return impl_->source.ready(); }
void LineReader::on_wait(std::function<void()> hook) { impl_->source.on_wait(std::move(hook)); }
void LineReader::stop_when(const StopFlag* flag) { impl_->source.stop_when(flag); }

std::vector<std::uint8_t> read_file_bytes(const std::string& path, std::size_t max_bytes) {
  ByteSource source(path);
  std::vector<std::uint8_t> bytes;
  std::size_t size = 0;
  for (;;) {
    // One byte over the limit is enough to know that it is passed.
    if (size == bytes.size()) bytes.resize(std::min(std::max(kFirstBufferBytes, 2 * size), max_bytes + 1));
    const std::size_t got = source.read(reinterpret_cast<char*>(bytes.data()) + size, bytes.size() - size, 0);
    if (got == 0) break;
    size += got;
    if (size > max_bytes)
      throw Error(ErrorKind::data, source.name() + ": more than " + std::to_string(max_bytes) + " bytes");
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace afore
