#include "device/cuda/rendezvous_frame.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <concepts>

namespace afore::device::cuda {
namespace {

constexpr std::string_view kMagic = "AFORERV1";
constexpr std::size_t kHeaderBytes = 16;
constexpr std::size_t kMaxTextBytes = 1000;

template <std::unsigned_integral T>
void put(std::string& bytes, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
}

// Reads integers and strings off the front; `ok` turns false where there is less than asked for.
struct Cutter {
  std::string_view left;
  bool ok = true;

  std::string_view bytes(std::size_t count) {
    ok = ok && count <= left.size();
    if (!ok) return {};
    const std::string_view front = left.substr(0, count);
    left.remove_prefix(count);
    return front;
  }
  template <std::unsigned_integral T>
  T number() {
    T value = 0;
    const std::string_view front = bytes(sizeof(T));
    for (std::size_t i = 0; i < front.size(); ++i)
      value |= static_cast<T>(static_cast<T>(static_cast<unsigned char>(front[i])) << (8 * i));
    return value;
  }
  std::string rest() { return std::string(bytes(left.size())); }
};

std::uint32_t word(std::string_view bytes, std::size_t at) { return Cutter{bytes.substr(at)}.number<std::uint32_t>(); }

}  // namespace

std::string encode(const Frame& frame) {
  std::string bytes(kMagic);
  put(bytes, static_cast<std::uint32_t>(frame.kind));
  put(bytes, static_cast<std::uint32_t>(frame.payload.size()));
  return bytes + frame.payload;
}

bool FrameReader::broken() const {
  const std::size_t known = std::min(bytes_.size(), kMagic.size());
  if (std::string_view(bytes_).substr(0, known) != kMagic.substr(0, known)) return true;
  if (bytes_.size() < kHeaderBytes) return false;
  const std::uint32_t kind = word(bytes_, 8);
  return kind < static_cast<std::uint32_t>(FrameKind::greeting) ||
         kind > static_cast<std::uint32_t>(FrameKind::verdict) || word(bytes_, 12) > kMaxPayloadBytes;
}

std::optional<Frame> FrameReader::next() {
  if (bytes_.size() < kHeaderBytes || broken()) return std::nullopt;
  const std::size_t payload_bytes = word(bytes_, 12);
  if (bytes_.size() < kHeaderBytes + payload_bytes) return std::nullopt;
  Frame frame{static_cast<FrameKind>(word(bytes_, 8)), bytes_.substr(kHeaderBytes, payload_bytes)};
  bytes_.erase(0, kHeaderBytes + payload_bytes);
  return frame;
}

std::optional<Frame> decode_frame(std::string_view bytes) {
  FrameReader reader;
  reader.feed(bytes);
  std::optional<Frame> frame = reader.next();
  if (frame && kHeaderBytes + frame->payload.size() != bytes.size()) return std::nullopt;
  return frame;
}

std::string encode(const Greeting& greeting) {
  std::string bytes;
  put(bytes, greeting.world_size);
  put(bytes, greeting.rank);
  put(bytes, greeting.blob_bytes);
  put(bytes, greeting.patience_ms);
  put(bytes, greeting.nonce);
  return bytes + greeting.token;
}

std::optional<Greeting> decode_greeting(std::string_view payload) {
  Cutter cutter{payload};
  Greeting greeting;
  greeting.world_size = cutter.number<std::uint32_t>();
  greeting.rank = cutter.number<std::uint32_t>();
  greeting.blob_bytes = cutter.number<std::uint32_t>();
  greeting.patience_ms = cutter.number<std::uint32_t>();
  greeting.nonce = cutter.number<std::uint64_t>();
  greeting.token = cutter.rest();
  if (!cutter.ok) return std::nullopt;
  return greeting;
}

std::string encode(const Offer& offer) {
  std::string bytes;
  put(bytes, offer.nonce);
  put(bytes, offer.world_size);
  put(bytes, static_cast<std::uint32_t>(offer.token.size()));
  return bytes + offer.token + offer.blob;
}

std::optional<Offer> decode_offer(std::string_view payload) {
  Cutter cutter{payload};
  Offer offer;
  offer.nonce = cutter.number<std::uint64_t>();
  offer.world_size = cutter.number<std::uint32_t>();
  offer.token = cutter.bytes(cutter.number<std::uint32_t>());
  offer.blob = cutter.rest();
  if (!cutter.ok) return std::nullopt;
  return offer;
}

std::string encode(const Answer& answer) {
  std::string bytes;
  put(bytes, answer.offer_nonce);
  return bytes + encode(answer.greeting);
}

std::optional<Answer> decode_answer(std::string_view payload) {
  Cutter cutter{payload};
  const auto nonce = cutter.number<std::uint64_t>();
  const std::optional<Greeting> greeting = decode_greeting(cutter.left);
  if (!cutter.ok || !greeting) return std::nullopt;
  return Answer{nonce, *greeting};
}

std::string encode(const Verdict& verdict) {
  std::string bytes;
  put(bytes, static_cast<std::uint32_t>(verdict.nonces.size()));
  for (const std::uint64_t nonce : verdict.nonces) put(bytes, nonce);
  return bytes + verdict.text;
}

std::optional<Verdict> decode_verdict(std::string_view payload) {
  Cutter cutter{payload};
  const std::size_t count = cutter.number<std::uint32_t>();
  if (!cutter.ok || count > cutter.left.size() / sizeof(std::uint64_t)) return std::nullopt;
  Verdict verdict;
  for (std::size_t i = 0; i < count; ++i) verdict.nonces.push_back(cutter.number<std::uint64_t>());
  verdict.text = cutter.rest();
  return verdict;
}

std::uint64_t fresh_nonce() {
  std::uint64_t nonce = 0;
  if (::getrandom(&nonce, sizeof nonce, GRND_NONBLOCK) == sizeof nonce) return nonce;
  // Early in a boot there may be no randomness yet; what is needed is only that no two calls share a number.
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  return static_cast<std::uint64_t>(now) << 20 ^ static_cast<std::uint64_t>(::getpid());
}

std::string printable(std::string_view text) {
  std::string result(text.substr(0, kMaxTextBytes));
  std::replace_if(
      result.begin(), result.end(), [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 127; }, '?');
  return result;
}

}  // namespace afore::device::cuda
