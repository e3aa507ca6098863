#pragma once
// The bytes of a log (docs/log-format.md): a file head, then frames. Little endian, no padding.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace afore {

// The first byte is no ASCII, and a transfer in text mode changes CR LF or stops at ^Z.
inline constexpr std::array<unsigned char, 8> kLogMagic = {0x8B, 'A', 'F', 'L', '\r', '\n', 0x1A, '\n'};
// C1 and FE occur in no UTF-8 text.
inline constexpr std::array<unsigned char, 4> kFrameSync = {0xC1, 0xAF, 0x0E, 0xFE};
inline constexpr int kLogVersion = 1;
inline constexpr std::size_t kFileHeadBytes = 36, kFrameHeadBytes = 40;
inline constexpr std::size_t kMaxFrameRawBytes = 32u << 10;
inline constexpr std::size_t kMaxFramePayloadBytes = kMaxFrameRawBytes + 512;  // what zstd may make of it
inline constexpr std::int64_t kMaxLogNumber = std::int64_t{1} << 53;           // of frames and of lines

struct FileHead {
  int version = kLogVersion;
  std::uint16_t flags = 0;  // none has a meaning yet; a reader refuses those it does not know
  std::int64_t segment = 0;
  std::int64_t first_line = 0;      // lines of the log in segments before this one
  std::int64_t first_sequence = 0;  // the same for frames
};

enum class HeadVerdict { good, damaged, other_version };

// Exactly kFileHeadBytes.
std::string encode(const FileHead& head);
// `bytes` has kFileHeadBytes. With other_version only `version` and `flags` of `head` mean something.
HeadVerdict decode(std::string_view bytes, FileHead& head);
// Whether `bytes`, the first ones of an input, can be those of a log: at most half of the magic's bytes differ, so
// that damage there is reported as such.
bool resembles_log(std::string_view bytes);

enum class FrameType : std::uint8_t { head = 1, lines = 2, end = 3 };
inline constexpr std::uint8_t kIgnorableType = 0x80;  // a reader that does not know such a type leaves the frame out

// Flags of head and lines: which part of a line longer than one frame; 0 = whole lines.
inline constexpr std::uint8_t kFirstPart = 1, kMiddlePart = 2, kLastPart = 4;
// Flag of end: the log goes on in the next segment.
inline constexpr std::uint8_t kContinued = 0x10;

struct FrameHead {
  std::uint8_t type = 0, flags = 0;
  std::uint16_t lines = 0;  // that end in this frame; 0 in a head that only repeats the first segment's
  std::uint32_t payload_bytes = 0, raw_bytes = 0;
  std::int64_t sequence = 0;    // of the frame in the log, from 0, over all segments
  std::int64_t first_line = 0;  // lines of the log before this frame
  std::uint32_t head_sum = 0;   // CRC-32C of the fields above, with the sync mark
  std::uint32_t frame_sum = 0;  // CRC-32C of the same fields and the payload behind them

  std::size_t size() const { return kFrameHeadBytes + payload_bytes; }
  bool is(FrameType known) const { return type == static_cast<std::uint8_t>(known); }
};

// A whole frame: head (its sums are computed) and payload.
std::string encode(FrameHead head, std::string_view payload);
// `bytes` has kFrameHeadBytes. False when they are no frame head: no mark, a wrong sum, or sizes that no frame has.
bool decode(std::string_view bytes, FrameHead& head);
// Whether `payload` is the one `head` was written with.
bool payload_matches(const FrameHead& head, std::string_view payload);

}  // namespace afore
