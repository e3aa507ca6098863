#pragma once
// From the payloads of verified frames to whole lines.
#include <cstdint>
#include <string>
#include <string_view>

#include "util/log/log_format.h"

struct ZSTD_DCtx_s;

namespace afore {

class FrameLines {
 public:
  FrameLines();
  ~FrameLines();
  FrameLines(const FrameLines&) = delete;
  FrameLines& operator=(const FrameLines&) = delete;

  // `frame` is of type head or lines. On success `lines` are the whole lines that it completes (none for a first or
  // middle part), valid until the next call. Otherwise returns what is wrong with it; parts gathered before are gone.
  std::string add(const FrameHead& frame, std::string_view payload, std::string_view& lines);

  bool line_open() const { return !line_.empty(); }  // parts of a line were gathered and its end was not seen
  std::int64_t open_bytes() const { return static_cast<std::int64_t>(open_stored_); }  // of the file, those parts
  void drop_open() {
    line_.clear();
    open_stored_ = 0;
  }

 private:
  std::string decompress(const FrameHead& frame, std::string_view payload, std::string_view& raw);
  std::string add_part(const FrameHead& frame, std::string_view raw, std::string_view& lines);

  ZSTD_DCtx_s* decoder_;
  std::string raw_;
  std::string line_;             // parts of a long line
  std::uint8_t open_type_ = 0;   // of the frames they came from
  std::int64_t open_first_ = 0;  // number of that line
  std::size_t open_stored_ = 0;
};

}  // namespace afore
