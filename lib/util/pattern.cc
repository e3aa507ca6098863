#include "util/pattern.h"

#include <algorithm>
#include <cstring>

namespace afore {

namespace {

constexpr std::int64_t kWordBytes = sizeof(std::uint64_t);

// splitmix64's finaliser: every input bit reaches every output bit.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

class Pattern {
 public:
  Pattern(std::uint64_t seed, std::int64_t worker, std::int64_t slot, PatternKind kind)
      : key_(mix(mix(seed + 0x9e3779b97f4a7c15u) ^
                 (static_cast<std::uint64_t>(worker) << 32 | static_cast<std::uint64_t>(slot)))),
        kept_(kind == PatternKind::bytes ? ~std::uint64_t{0} : 0x807f'807f'807f'807fu),
        set_(kind == PatternKind::bytes ? 0 : 0x3d00'3d00'3d00'3d00u) {}
  std::uint64_t word(std::int64_t index) const {
    return (mix(key_ + static_cast<std::uint64_t>(index) * 0x9e3779b97f4a7c15u) & kept_) | set_;
  }

 private:
  std::uint64_t key_;
  std::uint64_t kept_, set_;  // weights: sign and fraction are kept, the exponent is that of 2^-5
};

}  // namespace

void fill_pattern(std::span<std::byte> bytes, std::uint64_t seed, std::int64_t worker, std::int64_t slot,
                  PatternKind kind) {
  const Pattern pattern(seed, worker, slot, kind);
  const auto size = static_cast<std::int64_t>(bytes.size());
  for (std::int64_t at = 0; at < size; at += kWordBytes) {
    const std::uint64_t word = pattern.word(at / kWordBytes);
    std::memcpy(bytes.data() + at, &word, static_cast<std::size_t>(std::min(kWordBytes, size - at)));
  }
}

std::int64_t count_wrong(std::span<const std::byte> bytes, std::uint64_t seed, std::int64_t worker, std::int64_t slot,
                         PatternKind kind) {
  const Pattern pattern(seed, worker, slot, kind);
  const auto size = static_cast<std::int64_t>(bytes.size());
  std::int64_t wrong = 0;
  for (std::int64_t at = 0; at < size; at += kWordBytes) {
    const auto take = static_cast<std::size_t>(std::min(kWordBytes, size - at));
    const std::uint64_t word = pattern.word(at / kWordBytes);
    if (std::memcmp(bytes.data() + at, &word, take) == 0) continue;
    std::byte expected[kWordBytes];
    std::memcpy(expected, &word, kWordBytes);
    for (std::size_t i = 0; i < take; ++i) wrong += bytes[static_cast<std::size_t>(at) + i] != expected[i];
  }
  return wrong;
}

}  // namespace afore
