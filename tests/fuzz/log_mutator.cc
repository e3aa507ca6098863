// How the fuzzer changes logs: frames are moved, doubled, dropped and refilled as wholes beside the plain changes of
// bytes, and half of the time all checksums are made right afterwards. A random change would else never get past them.
#include <algorithm>
#include <cstring>

#include "fuzz.h"
#include "log_frames.h"
#include "util/log/crc32c.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace afore::fuzz {
namespace {

class Random {
 public:
  explicit Random(unsigned seed) : state_(seed * 2654435761u + 1) {}
  unsigned below(std::size_t end) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<unsigned>((state_ >> 33) % end);
  }

 private:
  std::uint64_t state_;
};

constexpr std::size_t kSumAt = 32;  // of a frame's head and of a file's, see log_format.cc

void put32(std::string& bytes, std::size_t at, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) bytes[at + i] = static_cast<char>(value >> (8 * i) & 0xFF);
}

std::uint32_t get32(const std::string& bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  return value;
}

std::size_t next_mark(const std::string& log, std::size_t from) {
  return log.find(std::string(kFrameSync.begin(), kFrameSync.end()), from);
}

// Right sums for the file head and for every frame, whose length is cut to what is there.
void fix_sums(std::string& log) {
  const std::string_view all = log;
  if (log.size() >= kFileHeadBytes) put32(log, kSumAt, crc32c(all.substr(0, kSumAt)));
  for (std::size_t at = next_mark(log, 0); at != std::string::npos && log.size() - at >= kFrameHeadBytes;) {
    const std::size_t room = log.size() - at - kFrameHeadBytes;
    if (get32(log, at + 8) > room) put32(log, at + 8, static_cast<std::uint32_t>(room));
    const std::size_t size = get32(log, at + 8);
    const std::uint32_t sum = crc32c(all.substr(at, kSumAt));
    put32(log, at + kSumAt, sum);
    put32(log, at + kSumAt + 4, crc32c(all.substr(at + kFrameHeadBytes, size), sum));
    at = next_mark(log, at + kFrameHeadBytes + size);
  }
}

// Other lines in the place of the frame's.
std::string refilled(const FoundFrame& frame, Random& random) {
  std::string raw = frame.raw;
  raw.resize(raw.size() + 64);
  raw.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(raw.data()), frame.raw.size(), raw.size()));
  if (random.below(4) != 0) raw += '\n';
  FrameHead head = frame.head;
  head.raw_bytes = static_cast<std::uint32_t>(raw.size());
  if (random.below(4) != 0) head.lines = static_cast<std::uint16_t>(std::count(raw.begin(), raw.end(), '\n'));
  std::string payload(ZSTD_compressBound(raw.size()), '\0');
  payload.resize(ZSTD_compress(payload.data(), payload.size(), raw.data(), raw.size(), 1));
  return encode(head, payload);
}

// One field of the frame's head other than before, with right sums.
std::string renumbered(const std::string& bytes, FoundFrame frame, Random& random) {
  FrameHead& head = frame.head;
  const int by = static_cast<int>(random.below(5)) - 2;
  switch (random.below(5)) {
    case 0: head.sequence = std::max<std::int64_t>(0, head.sequence + by); break;
    case 1: head.first_line = std::max<std::int64_t>(0, head.first_line + by); break;
    case 2: head.flags = static_cast<std::uint8_t>(1u << random.below(6)); break;
    case 3: head.type = static_cast<std::uint8_t>(random.below(6) + (random.below(4) == 0 ? kIgnorableType : 0)); break;
    default: head.lines = static_cast<std::uint16_t>(std::max(0, head.lines + by)); break;
  }
  return encode(head, std::string_view(bytes).substr(frame.at + kFrameHeadBytes, head.payload_bytes));
}

void change_frames(std::string& log, Random& random) {
  const std::vector<FoundFrame> frames = verified_frames(log);
  if (frames.empty()) return;
  const FoundFrame& frame = frames[random.below(frames.size())];
  const std::size_t size = frame.head.size();
  const std::string bytes = log.substr(frame.at, size);
  const std::size_t elsewhere = frames[random.below(frames.size())].at;
  switch (random.below(6)) {
    case 0: log.erase(frame.at, size); break;
    case 1: log.insert(elsewhere, bytes); break;
    case 2:
      log.insert(elsewhere, bytes);
      log.erase(frame.at + (elsewhere <= frame.at ? size : 0), size);
      break;
    case 3: log.replace(frame.at, size, renumbered(log, frame, random)); break;
    case 4: log += log.substr(0, frame.at + size); break;  // the log's beginning again, as a further segment
    default: log.replace(frame.at, size, refilled(frame, random)); break;
  }
}

}  // namespace
}  // namespace afore::fuzz

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  using namespace afore;
  fuzz::Random random(seed);
  const bool whole_frames = random.below(2) == 0, fix = random.below(2) == 0;
  if (!whole_frames || size < 2) size = LLVMFuzzerMutate(data, size, max_size);
  if (size < 2) return size;
  std::string log(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (whole_frames) fuzz::change_frames(log, random);
  if (fix) fuzz::fix_sums(log);
  if (log.size() >= max_size) log.resize(max_size - 1);
  std::memcpy(data + 1, log.data(), log.size());
  return log.size() + 1;
}
