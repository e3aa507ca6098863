#include "util/log/log_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "util/error.h"
#include "util/log/crc32c.h"
#include "util/log/frame_lines.h"
#include "util/log/log_format.h"

namespace afore {
namespace {

constexpr std::size_t kWindowBytes = 128u << 10;
static_assert(kWindowBytes >= 2 * (kFrameHeadBytes + kMaxFramePayloadBytes));

// What stands at the window's begin.
struct Found {
  bool good = false;
  bool cut = false;                // the input ends inside it
  std::optional<FrameHead> frame;  // where a frame's head is good
  const char* wrong = "";
};

}  // namespace

struct LogReader::Impl {
  Impl(ByteRead read, std::string source_name, Recover how)
      : window(std::move(read), kWindowBytes), name(std::move(source_name)), recover(how) {}

  bool next(std::string_view& lines);
  void take_file_head();
  void begin_segment(const FileHead& head);
  Found look();
  void find_next_frame(const Found& at_begin);
  std::size_t step_over(const Found& found);
  bool search();
  bool accept(const FrameHead& frame, std::string_view& lines);
  bool in_sequence(const FrameHead& frame);
  bool take_lines(const FrameHead& frame, std::string_view& lines);
  void take_end(const FrameHead& frame);
  void note_gap(const FrameHead& frame);
  void drop(const FrameHead& frame, const std::string& what);
  void reach(std::int64_t line);
  void note_promise(const FrameHead& frame);
  void note_damage(const std::string& what, std::int64_t at);
  void left_out_in_the_middle(const std::string& what, std::int64_t at, std::int64_t bytes);
  [[noreturn]] void fail(const std::string& what, std::int64_t at) const;
  bool finish();

  LogWindow window;
  std::string name;
  Recover recover;
  FrameLines frame_lines;
  LogReport report;
  bool head_expected = true;   // a file head: at the start, and where another segment may follow
  bool has_head = false;       // the stream's first line was seen
  std::uint32_t head_sum = 0;  // its checksum
  bool gap_known = false;      // damage was just reported, so missing numbers are no news
  bool gap_explained = false;  // that was so before the frame at hand
  bool looks_like_log = false;
  std::optional<std::int64_t> next_sequence;  // unknown while nothing that says so was read
  std::int64_t last_good = -1;                // sequence of the last good frame
  std::int64_t promised_line = 0;             // the furthest line that a good frame head spoke of
  bool done = false;
};

void LogReader::Impl::fail(const std::string& what, std::int64_t at) const {
  throw Error(ErrorKind::data, fmt::format("{}:{}: {}", name, report.lines + 1, describe_damage(what, at, last_good)),
              "--recover skip reads what is whole; afore-trace repair writes it to a new log");
}

void LogReader::Impl::note_damage(const std::string& what, std::int64_t at) {
  if (report.damage_at >= 0) return;
  report.damage_at = at;
  report.damage_after = last_good;
  report.damage = what;
}

// A good frame follows: only skip goes on.
void LogReader::Impl::left_out_in_the_middle(const std::string& what, std::int64_t at, std::int64_t bytes) {
  if (recover != Recover::skip) fail(what, at);
  note_damage(what, at);
  ++report.damaged_parts;
  report.lost_bytes += bytes;
}

Found LogReader::Impl::look() {
  Found found;
  if (!window.ensure(kFrameHeadBytes)) {
    found.cut = true;
    found.wrong = "the log ends inside a frame's head";
    return found;
  }
  FrameHead frame;
  if (!decode(window.ahead().substr(0, kFrameHeadBytes), frame)) {
    found.wrong = "no good frame begins here";
    return found;
  }
  found.frame = frame;
  if (!window.ensure(frame.size())) {
    found.cut = true;
    found.wrong = "the log ends inside a frame";
  } else {
    found.good = payload_matches(frame, window.ahead().substr(kFrameHeadBytes, frame.payload_bytes));
    found.wrong = "the checksum of a frame does not match";
  }
  if (!found.good) note_promise(frame);
  return found;
}

// How far to go on from something that is no good frame. Where only a payload is damaged, the next frame stands right
// behind it; what lies inside is not searched then: it may be anything, also something that looks like a frame.
std::size_t LogReader::Impl::step_over(const Found& found) {
  if (!found.frame || found.cut) return std::min<std::size_t>(1, window.ahead().size());
  const std::size_t size = found.frame->size();
  FrameHead behind;
  const bool at_end = !window.ensure(size + 1);
  const bool frame_behind =
      window.ensure(size + kFrameHeadBytes) && decode(window.ahead().substr(size, kFrameHeadBytes), behind);
  return at_end || frame_behind ? size : 1;
}

// Advances to the next good frame; false at the end of the input.
bool LogReader::Impl::search() {
  while (window.ensure(1)) {
    const std::string_view ahead = window.ahead();
    const void* mark = std::memchr(ahead.data(), kFrameSync[0], ahead.size());
    if (mark == nullptr) {
      window.advance(ahead.size());
      continue;
    }
    window.advance(static_cast<std::size_t>(static_cast<const char*>(mark) - ahead.data()));
    const Found found = look();
    if (found.good) return true;
    window.advance(step_over(found));
  }
  return false;
}

void LogReader::Impl::find_next_frame(const Found& at_begin) {
  const std::int64_t start = window.offset();
  const std::string what = at_begin.wrong;
  if (recover == Recover::strict) fail(what, start);
  window.advance(step_over(at_begin));
  const bool found = search();
  const std::int64_t bytes = window.offset() - start;
  if (found) {
    left_out_in_the_middle(what, start, bytes);
    gap_known = true;
    return;
  }
  note_damage(what, start);
  report.tail_bytes = bytes;
  report.lost_bytes += bytes;
}

void LogReader::Impl::begin_segment(const FileHead& head) {
  if (report.frames > 0 || next_sequence) {  // segments one behind the other
    const bool follows = report.continued && head.segment == report.segment + 1 &&
                         head.first_line == report.next_line && head.first_sequence == next_sequence;
    const bool later = head.segment > report.segment && head.first_line >= report.next_line &&
                       (!next_sequence || head.first_sequence >= *next_sequence);
    // Two logs have the same numbers: what of the second one would be taken for a part of the first, nobody could tell.
    if (!later)
      throw Error(ErrorKind::data,
                  fmt::format("{}:{}: another log begins at byte {}", name, report.lines + 1, window.offset()),
                  "afore-trace merge joins logs");
    if (!follows) left_out_in_the_middle("a part of the log is missing before this segment", window.offset(), 0);
    gap_known = !follows;
    report.segment = head.segment;
  } else {
    report.segment = head.segment;
    report.first_line = report.next_line = promised_line = head.first_line;
    next_sequence = head.first_sequence;
  }
  report.version = head.version;
  report.ended = report.continued = false;
}

void LogReader::Impl::take_file_head() {
  head_expected = false;
  const bool whole = window.ensure(kFileHeadBytes);
  const std::string_view ahead = window.ahead();
  const bool resembles = resembles_log(ahead);
  looks_like_log = looks_like_log || resembles;
  FileHead head;
  const HeadVerdict verdict = whole ? decode(ahead.substr(0, kFileHeadBytes), head) : HeadVerdict::damaged;
  if (verdict == HeadVerdict::other_version) {
    const std::string flags = head.version == kLogVersion ? fmt::format(" with flags {:#x}", head.flags) : "";
    throw Error(ErrorKind::data, fmt::format("{}: a log of format version {}{}; this version of afore reads version {}",
                                             name, head.version, flags, kLogVersion));
  }
  if (verdict == HeadVerdict::good) {
    begin_segment(head);
    window.advance(kFileHeadBytes);
    return;
  }
  if (report.frames > 0 && !resembles && look().good) return;  // not a segment, frames that go on or come again
  Found found;
  found.cut = !whole;
  found.wrong = !whole && resembles ? "the log ends inside its head" : "no good file head stands here";
  if (whole && resembles && ahead[3] == 'L' && ahead[4] == '\n')
    found.wrong = "CR LF was turned into LF: the file went through a transfer in text mode";
  if (report.ended) found.wrong = "bytes follow the end marker";
  find_next_frame(found);
}

// Keeps account of a frame's promise, so that lines of a frame whose payload is lost are counted even at the end.
void LogReader::Impl::note_promise(const FrameHead& frame) {
  const bool news = !next_sequence || frame.sequence >= *next_sequence;
  const bool part = frame.flags == kFirstPart || frame.flags == kMiddlePart;
  const bool holds_lines = frame.is(FrameType::head) || frame.is(FrameType::lines);
  if (news && holds_lines) promised_line = std::max(promised_line, frame.first_line + (part ? 1 : frame.lines));
}

void LogReader::Impl::reach(std::int64_t line) {
  report.lost_lines += line - report.next_line;
  report.next_line = line;
}

void LogReader::Impl::drop(const FrameHead& frame, const std::string& what) {
  note_promise(frame);
  left_out_in_the_middle(fmt::format("frame {}: {}", frame.sequence, what), window.offset(),
                         static_cast<std::int64_t>(frame.size()));
  gap_known = true;
}

bool LogReader::Impl::in_sequence(const FrameHead& frame) {
  const bool gap_was_known = std::exchange(gap_known, false);
  gap_explained = gap_was_known;
  if (next_sequence && frame.sequence < *next_sequence) {
    drop(frame, "it comes again or too late");
    ++report.repeated_frames;
    return false;
  }
  if (next_sequence && frame.sequence > *next_sequence) {
    report.lost_bytes += frame_lines.open_bytes();
    frame_lines.drop_open();
    if (!gap_was_known)
      left_out_in_the_middle(fmt::format("frames {} to {} are missing", *next_sequence, frame.sequence - 1),
                             window.offset(), 0);
  }
  if (!next_sequence && frame.is(FrameType::head))
    report.first_line = report.next_line = frame.first_line;  // the file head is lost, this one says as much
  return true;
}

bool LogReader::Impl::take_lines(const FrameHead& frame, std::string_view& lines) {
  const bool head = frame.is(FrameType::head);
  if (!head && frame.first_line < report.next_line) {
    drop(frame, "its line numbers run backwards");
    return false;
  }
  const std::int64_t open = frame_lines.open_bytes();
  const std::string wrong = frame_lines.add(frame, window.ahead().substr(kFrameHeadBytes, frame.payload_bytes), lines);
  if (!wrong.empty()) {
    report.lost_bytes += open;
    drop(frame, wrong);
    return false;
  }
  if (lines.empty()) return false;  // a part
  if (head && has_head) {           // the other copy
    if (crc32c(lines) != head_sum) drop(frame, "its first line is not that of the log");
    return false;
  }
  has_head = has_head || head;
  if (head) head_sum = crc32c(lines);
  if (head && report.lines > 0) return false;  // lines went out without it, and it cannot stand behind them
  if (head) report.has_head = true;
  // A later segment without its copy of the first line lacks that line too.
  if (!head && !has_head && report.first_line > 0 && report.lines == 0) ++report.lost_lines;
  note_gap(frame);
  if (frame.first_line > report.next_line) reach(frame.first_line);
  report.next_line = std::max(report.next_line, frame.first_line + frame.lines);
  report.lines += head ? 1 : frame.lines;
  report.raw_bytes += static_cast<std::int64_t>(lines.size());
  return true;
}

// Lines are missing and no frame is: whoever wrote this left them out, or a frame that this version does not know has
// them.
void LogReader::Impl::note_gap(const FrameHead& frame) {
  if (frame.first_line > report.next_line && frame.sequence == last_good + 1 && !gap_explained)
    left_out_in_the_middle(fmt::format("frame {}: lines are missing before it", frame.sequence), window.offset(), 0);
}

void LogReader::Impl::take_end(const FrameHead& frame) {
  if (frame.payload_bytes != 0 || frame.first_line < report.next_line || frame_lines.line_open()) {
    drop(frame, "an end marker that does not fit");
    return;
  }
  note_gap(frame);
  reach(frame.first_line);
  report.ended = head_expected = true;
  report.continued = frame.flags == kContinued;
}

// True when lines came out of it.
bool LogReader::Impl::accept(const FrameHead& frame, std::string_view& lines) {
  if (!in_sequence(frame)) return false;
  next_sequence = frame.sequence + 1;
  report.ended = report.continued = false;
  bool out = false;
  const std::int64_t damaged_before = report.damaged_parts;
  const bool text = frame.is(FrameType::head) || frame.is(FrameType::lines);
  const std::uint8_t flags = frame.flags;
  if (text && (flags == 0 || flags == kFirstPart || flags == kMiddlePart || flags == kLastPart))
    out = take_lines(frame, lines);
  else if (frame.is(FrameType::end) && (flags == 0 || flags == kContinued)) take_end(frame);
  else if ((frame.type & kIgnorableType) != 0) ++report.ignored_frames;
  else drop(frame, fmt::format("type {} with flags {:#x} is not known to this version", frame.type, flags));
  if (report.damaged_parts == damaged_before) ++report.frames;
  last_good = frame.sequence;
  return out;
}

// At the end of the input.
bool LogReader::Impl::finish() {
  done = true;
  report.stored_bytes = window.offset();
  if (report.version == 0 && report.frames == 0 && !looks_like_log && window.offset() > 0)
    throw Error(ErrorKind::data, name + ": not a log of afore", "logs begin with the bytes 8B 41 46 4C");
  if (frame_lines.line_open()) {
    report.tail_bytes += frame_lines.open_bytes();
    report.lost_bytes += frame_lines.open_bytes();
    promised_line = std::max(promised_line, report.next_line + 1);
  }
  if (report.ended) return false;
  if (promised_line > report.next_line) reach(promised_line);
  if (recover == Recover::strict)
    throw Error(
        ErrorKind::data,
        fmt::format("{}:{}: the log has no end marker, its writer was stopped or still writes", name, report.lines + 1),
        "--recover tail reads it; lines that were written whole are good");
  return false;
}

bool LogReader::Impl::next(std::string_view& lines) {
  while (!done && window.ensure(1)) {
    if (head_expected) {
      take_file_head();
      continue;
    }
    const Found found = look();
    if (!found.good) {
      find_next_frame(found);
      continue;
    }
    const bool out = accept(*found.frame, lines);
    window.advance(found.frame->size());
    if (out) return true;
  }
  return !done && finish();
}

LogReader::LogReader(ByteRead read, std::string name, Recover recover)
    : impl_(std::make_unique<Impl>(std::move(read), std::move(name), recover)) {}
LogReader::~LogReader() = default;
bool LogReader::next(std::string_view& lines) { return impl_->next(lines); }
const LogReport& LogReader::report() const { return impl_->report; }

LogReport read_log(std::string_view bytes, Recover recover, const std::function<void(std::string_view line)>& on_line) {
  LogReader reader(
      [&bytes](char* out, std::size_t capacity) {
        const std::size_t size = std::min(capacity, bytes.size());
        std::memcpy(out, bytes.data(), size);
        bytes.remove_prefix(size);
        return size;
      },
      "log", recover);
  for (std::string_view lines; reader.next(lines);) {
    for (std::size_t begin = 0; begin < lines.size();) {
      const std::size_t end = lines.find('\n', begin);
      on_line(lines.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return reader.report();
}

}  // namespace afore
