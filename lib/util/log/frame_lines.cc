#include "util/log/frame_lines.h"

#include <zstd.h>

#include <algorithm>
#include <new>

#include "util/line_io.h"

namespace afore {

FrameLines::FrameLines() : decoder_(ZSTD_createDCtx()), raw_(kMaxFrameRawBytes, '\0') {
  if (decoder_ == nullptr) throw std::bad_alloc();
}

FrameLines::~FrameLines() { ZSTD_freeDCtx(decoder_); }

std::string FrameLines::decompress(const FrameHead& frame, std::string_view payload, std::string_view& raw) {
  const std::size_t size = ZSTD_decompressDCtx(decoder_, raw_.data(), frame.raw_bytes, payload.data(), payload.size());
  if (ZSTD_isError(size) != 0) return std::string("its payload cannot be decompressed: ") + ZSTD_getErrorName(size);
  if (size != frame.raw_bytes) return "its payload has another length than its head says";
  raw = {raw_.data(), size};
  return "";
}

std::string FrameLines::add_part(const FrameHead& frame, std::string_view raw, std::string_view& lines) {
  if (frame.flags == kFirstPart) {
    if (line_open()) return "a line begins inside another one";
    open_type_ = frame.type;
    open_first_ = frame.first_line;
  } else if (!line_open() || open_type_ != frame.type || open_first_ != frame.first_line) {
    return "it holds part of a line whose beginning is missing";
  }
  if (line_.size() + raw.size() > kMaxLineBytes + 1) return "it makes a line longer than 16 MiB";
  line_ += raw;
  open_stored_ += frame.size();
  if (frame.flags != kLastPart) return "";
  raw_.swap(line_);
  drop_open();
  lines = raw_;
  return "";
}

std::string FrameLines::add(const FrameHead& frame, std::string_view payload, std::string_view& lines) {
  raw_.resize(kMaxFrameRawBytes);
  std::string_view raw;
  std::string wrong = decompress(frame, payload, raw);
  const bool part = frame.flags != 0, last = frame.flags == kLastPart;
  if (wrong.empty()) {
    const auto ends = std::count(raw.begin(), raw.end(), '\n');
    const bool repeats = frame.is(FrameType::head) && frame.lines == 0 && (!part || last);
    const bool fits = !part || last ? !raw.empty() && raw.back() == '\n' : !raw.empty();
    const bool one = last || (!part && frame.is(FrameType::head));  // the first line of the log, and no other
    if (!fits || ends != (repeats ? 1 : frame.lines) || (one && ends != 1) || (part && !last && ends != 0))
      wrong = "its lines are not as its head says";
  }
  lines = {};
  if (wrong.empty() && part) wrong = add_part(frame, raw, lines);
  else if (wrong.empty() && line_open()) wrong = "lines begin inside another line";
  else if (wrong.empty()) lines = raw;
  if (!wrong.empty()) drop_open();
  return wrong;
}

}  // namespace afore
