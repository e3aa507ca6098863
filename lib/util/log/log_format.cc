#include "util/log/log_format.h"

#include <algorithm>
#include <cstring>

#include "util/log/crc32c.h"

namespace afore {
namespace {

constexpr std::size_t kSummedFileHeadBytes = kFileHeadBytes - 4, kSummedFrameHeadBytes = kFrameHeadBytes - 8;
constexpr std::size_t kMaxMagicDamage = 4;

void put(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xFF);
}

class Fields {
 public:
  explicit Fields(const char* at) : at_(reinterpret_cast<const unsigned char*>(at)) {}
  std::uint64_t take(int bytes) {
    std::uint64_t value = 0;
    for (int i = 0; i < bytes; ++i) value |= static_cast<std::uint64_t>(*at_++) << (8 * i);
    return value;
  }

 private:
  const unsigned char* at_;
};

template <std::size_t N>
bool starts_with(std::string_view bytes, const std::array<unsigned char, N>& mark) {
  return bytes.size() >= N && std::memcmp(bytes.data(), mark.data(), N) == 0;
}

// The sum of a file head, as if it carried this version's number.
std::uint32_t sum_as_this_version(std::string_view head) {
  std::string summed(head.substr(0, kSummedFileHeadBytes));
  summed[8] = kLogVersion & 0xFF;
  summed[9] = kLogVersion >> 8;
  return crc32c(summed);
}

}  // namespace

std::string encode(const FileHead& head) {
  std::string out(reinterpret_cast<const char*>(kLogMagic.data()), kLogMagic.size());
  put(out, static_cast<std::uint64_t>(head.version), 2);
  put(out, head.flags, 2);
  put(out, static_cast<std::uint64_t>(head.segment), 4);
  put(out, static_cast<std::uint64_t>(head.first_line), 8);
  put(out, static_cast<std::uint64_t>(head.first_sequence), 8);
  put(out, crc32c(out), 4);
  return out;
}

HeadVerdict decode(std::string_view bytes, FileHead& head) {
  if (!starts_with(bytes, kLogMagic)) return HeadVerdict::damaged;
  Fields fields(bytes.data() + kLogMagic.size());
  head.version = static_cast<int>(fields.take(2));
  head.flags = static_cast<std::uint16_t>(fields.take(2));
  head.segment = static_cast<std::int64_t>(fields.take(4));
  const std::uint64_t first_line = fields.take(8), first_sequence = fields.take(8);
  const auto sum = static_cast<std::uint32_t>(fields.take(4));
  if (head.version != kLogVersion) {
    // Another version may sum other bytes. Where only the version's own bytes are wrong, the head is damaged.
    const bool damaged = head.version == 0 || sum == sum_as_this_version(bytes);
    return damaged ? HeadVerdict::damaged : HeadVerdict::other_version;
  }
  if (sum != sum_as_this_version(bytes) || first_line >= kMaxLogNumber || first_sequence >= kMaxLogNumber)
    return HeadVerdict::damaged;
  head.first_line = static_cast<std::int64_t>(first_line);
  head.first_sequence = static_cast<std::int64_t>(first_sequence);
  return head.flags == 0 ? HeadVerdict::good : HeadVerdict::other_version;
}

bool resembles_log(std::string_view bytes) {
  const std::size_t size = std::min(bytes.size(), kLogMagic.size());
  std::size_t other = 0;
  for (std::size_t i = 0; i < size; ++i) other += static_cast<unsigned char>(bytes[i]) != kLogMagic[i];
  return other <= std::min(kMaxMagicDamage, size / 2);
}

std::string encode(FrameHead head, std::string_view payload) {
  std::string out;
  out.reserve(kFrameHeadBytes + payload.size());
  out.append(reinterpret_cast<const char*>(kFrameSync.data()), kFrameSync.size());
  put(out, head.type, 1);
  put(out, head.flags, 1);
  put(out, head.lines, 2);
  put(out, payload.size(), 4);
  put(out, head.raw_bytes, 4);
  put(out, static_cast<std::uint64_t>(head.sequence), 8);
  put(out, static_cast<std::uint64_t>(head.first_line), 8);
  const std::uint32_t sum = crc32c(out);
  put(out, sum, 4);
  put(out, crc32c(payload, sum), 4);
  out.append(payload);
  return out;
}

bool decode(std::string_view bytes, FrameHead& head) {
  if (!starts_with(bytes, kFrameSync)) return false;
  Fields fields(bytes.data() + kFrameSync.size());
  head.type = static_cast<std::uint8_t>(fields.take(1));
  head.flags = static_cast<std::uint8_t>(fields.take(1));
  head.lines = static_cast<std::uint16_t>(fields.take(2));
  head.payload_bytes = static_cast<std::uint32_t>(fields.take(4));
  head.raw_bytes = static_cast<std::uint32_t>(fields.take(4));
  const std::uint64_t sequence = fields.take(8), first_line = fields.take(8);
  head.head_sum = static_cast<std::uint32_t>(fields.take(4));
  head.frame_sum = static_cast<std::uint32_t>(fields.take(4));
  if (head.payload_bytes > kMaxFramePayloadBytes || head.raw_bytes > kMaxFrameRawBytes) return false;
  if (head.lines > head.raw_bytes || sequence >= kMaxLogNumber || first_line >= kMaxLogNumber) return false;
  head.sequence = static_cast<std::int64_t>(sequence);
  head.first_line = static_cast<std::int64_t>(first_line);
  return crc32c(bytes.substr(0, kSummedFrameHeadBytes)) == head.head_sum;
}

bool payload_matches(const FrameHead& head, std::string_view payload) {
  return crc32c(payload, head.head_sum) == head.frame_sum;
}

}  // namespace afore
