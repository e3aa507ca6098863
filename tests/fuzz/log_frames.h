#pragma once
// The frames of any bytes, found without the log reader: for the log target and its mutator.
#include <zstd.h>

#include <string>
#include <string_view>
#include <vector>

#include "util/log/log_format.h"

namespace afore::fuzz {

struct FoundFrame {
  std::size_t at = 0;
  FrameHead head;
  std::string raw;  // its payload decompressed; empty where that fails
};

// Every place where a frame stands whole with both sums right, also inside others.
inline std::vector<FoundFrame> verified_frames(std::string_view bytes) {
  const std::string_view mark(reinterpret_cast<const char*>(kFrameSync.data()), kFrameSync.size());
  std::vector<FoundFrame> frames;
  for (std::size_t at = bytes.find(mark); at != std::string_view::npos; at = bytes.find(mark, at + 1)) {
    FoundFrame found{at, {}, ""};
    const std::string_view rest = bytes.substr(at);
    if (rest.size() < kFrameHeadBytes || !decode(rest.substr(0, kFrameHeadBytes), found.head)) continue;
    if (rest.size() < found.head.size()) continue;
    const std::string_view payload = rest.substr(kFrameHeadBytes, found.head.payload_bytes);
    if (!payload_matches(found.head, payload)) continue;
    found.raw.resize(found.head.raw_bytes);
    const std::size_t size = ZSTD_decompress(found.raw.data(), found.raw.size(), payload.data(), payload.size());
    if (ZSTD_isError(size) != 0 || size != found.raw.size()) found.raw.clear();
    frames.push_back(std::move(found));
  }
  return frames;
}

}  // namespace afore::fuzz
