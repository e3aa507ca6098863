// A log's reader over any bytes, in all three ways of recovery: whatever it hands out stood in frames whose checksums
// are right, and the ways differ only in where they stop.
#include <algorithm>
#include <set>
#include <vector>

#include "fuzz.h"
#include "log_frames.h"
#include "util/log/log_reader.h"

namespace afore {
namespace {

struct Reading {
  std::vector<std::string> lines;
  LogReport report;
  bool refused = false;
};

Reading read(std::string_view log, Recover recover) {
  Reading reading;
  reading.refused = fuzz::refuses([&] {
    reading.report = read_log(log, recover, [&](std::string_view line) { reading.lines.emplace_back(line); });
  });
  return reading;
}

// What verified frames can give: whole lines, and lines put together of parts, in the order of the file.
class Verified {
 public:
  explicit Verified(std::string_view log) : frames_(fuzz::verified_frames(log)) {
    for (const fuzz::FoundFrame& frame : frames_)
      for (std::size_t begin = 0; frame.head.flags == 0 && begin < frame.raw.size();) {
        const std::size_t end = std::min(frame.raw.find('\n', begin), frame.raw.size());
        lines_.emplace(frame.raw.substr(begin, end - begin));
        begin = end + 1;
      }
  }

  bool holds(const std::string& line) const { return lines_.contains(line) || joins(line + "\n"); }

 private:
  bool joins(const std::string& line) const {
    std::set<std::size_t> reached;  // bytes of the line that parts so far make up
    for (const fuzz::FoundFrame& frame : frames_) {
      const auto fits = [&](std::size_t at) { return line.compare(at, frame.raw.size(), frame.raw) == 0; };
      if (frame.head.flags == kLastPart)
        for (const std::size_t at : reached)
          if (at + frame.raw.size() == line.size() && fits(at)) return true;
      if (frame.head.flags == kMiddlePart)
        for (const std::size_t at : std::set<std::size_t>(reached))
          if (fits(at)) reached.insert(at + frame.raw.size());
      if (frame.head.flags == kFirstPart && fits(0)) reached.insert(frame.raw.size());
    }
    return false;
  }

  std::vector<fuzz::FoundFrame> frames_;
  std::set<std::string> lines_;
};

void check_report(const Reading& reading, std::size_t size) {
  const LogReport& r = reading.report;
  FUZZ_CHECK(r.lines == static_cast<std::int64_t>(reading.lines.size()));
  FUZZ_CHECK(r.stored_bytes == static_cast<std::int64_t>(size));
  FUZZ_CHECK(r.lost_bytes >= 0 && r.lost_bytes <= r.stored_bytes && r.tail_bytes <= r.stored_bytes);
  FUZZ_CHECK(r.lost_lines >= 0 && r.frames >= 0 && r.damaged_parts >= 0);
  FUZZ_CHECK(describe_losses(r).find('\n') == std::string::npos);
}

}  // namespace
}  // namespace afore

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace afore;
  if (size == 0) return 0;
  const std::string_view log = fuzz::text_of(data + 1, size - 1);
  const Reading skip = read(log, Recover::skip);
  if (!skip.lines.empty()) {
    const Verified verified(log);
    for (const std::string& line : skip.lines) FUZZ_CHECK(verified.holds(line));
  }
  if (!skip.refused) check_report(skip, log.size());
  const bool strict = data[0] % 2 == 1;
  const Reading other = read(log, strict ? Recover::strict : Recover::tail);
  FUZZ_CHECK(other.lines.size() <= skip.lines.size() &&
             std::equal(other.lines.begin(), other.lines.end(), skip.lines.begin()));
  if (other.refused) return 0;
  check_report(other, log.size());
  FUZZ_CHECK(other.lines == skip.lines && other.report.damaged_parts == 0);
  if (strict && log.size() > 0) FUZZ_CHECK(other.report.whole() && other.report.lost_bytes == 0);
  return 0;
}
