#pragma once
// The frames of rendezvous.h as bytes. Whatever comes from outside is checked here before anybody looks at it.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace afore::device::cuda {

enum class FrameKind : std::uint32_t { greeting = 1, blob, received, complete, failed, offer, answer, verdict };

struct Frame {
  FrameKind kind;
  std::string payload;
};
std::string encode(const Frame& frame);

constexpr std::size_t kMaxPayloadBytes = 65536;

// Cuts a stream of bytes into frames.
class FrameReader {
 public:
  void feed(std::string_view bytes) { bytes_ += bytes; }
  std::optional<Frame> next();
  bool broken() const;  // what comes next is no frame of ours: seen at the first byte that does not fit

 private:
  std::string bytes_;
};
std::optional<Frame> decode_frame(std::string_view bytes);  // exactly one, and nothing after it

struct Greeting {
  std::uint32_t world_size = 0;
  std::uint32_t rank = 0;
  std::uint32_t blob_bytes = 0;
  std::uint32_t patience_ms = 0;
  std::uint64_t nonce = 0;  // of this call
  std::string token;
};
std::string encode(const Greeting& greeting);
std::optional<Greeting> decode_greeting(std::string_view payload);

struct Offer {
  std::uint64_t nonce = 0;
  std::uint32_t world_size = 0;
  std::string token, blob;
};
std::string encode(const Offer& offer);
std::optional<Offer> decode_offer(std::string_view payload);

struct Answer {
  std::uint64_t offer_nonce = 0;
  Greeting greeting;
};
std::string encode(const Answer& answer);
std::optional<Answer> decode_answer(std::string_view payload);

struct Verdict {
  std::vector<std::uint64_t> nonces;  // by rank
  std::string text;                   // empty: complete
};
std::string encode(const Verdict& verdict);
std::optional<Verdict> decode_verdict(std::string_view payload);

std::uint64_t fresh_nonce();
std::string printable(std::string_view text);  // a peer's text, without control characters, cut where it is long

}  // namespace afore::device::cuda
