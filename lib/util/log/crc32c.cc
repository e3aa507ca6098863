#include "util/log/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace afore {
namespace {

constexpr std::uint32_t kReflected = 0x82F63B78;
constexpr int kSlices = 8;

using Tables = std::array<std::array<std::uint32_t, 256>, kSlices>;

// tables[k][b]: the sum of byte b followed by k zero bytes, so that eight bytes are folded in at once.
constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t b = 0; b < 256; ++b) {
    std::uint32_t sum = b;
    for (int bit = 0; bit < 8; ++bit) sum = (sum & 1) != 0 ? (sum >> 1) ^ kReflected : sum >> 1;
    tables[0][b] = sum;
  }
  for (std::size_t k = 1; k < kSlices; ++k)
    for (std::size_t b = 0; b < 256; ++b) tables[k][b] = (tables[k - 1][b] >> 8) ^ tables[0][tables[k - 1][b] & 0xFF];
  return tables;
}

constexpr Tables kTables = make_tables();

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t crc32c_instruction(std::string_view bytes, std::uint32_t before) {
  std::uint64_t sum = static_cast<std::uint32_t>(~before);
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; at += 8, left -= 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    sum = _mm_crc32_u64(sum, word);
  }
  auto narrow = static_cast<std::uint32_t>(sum);
  for (; left > 0; ++at, --left) narrow = _mm_crc32_u8(narrow, static_cast<unsigned char>(*at));
  return ~narrow;
}
#endif

}  // namespace

std::uint32_t crc32c_table(std::string_view bytes, std::uint32_t before) {
  std::uint32_t sum = ~before;
  const auto* at = reinterpret_cast<const unsigned char*>(bytes.data());
  std::size_t left = bytes.size();
  for (; left >= kSlices; at += kSlices, left -= kSlices) {
    const std::uint32_t low = sum ^ (at[0] | at[1] << 8 | at[2] << 16 | static_cast<std::uint32_t>(at[3]) << 24);
    sum = kTables[7][low & 0xFF] ^ kTables[6][(low >> 8) & 0xFF] ^ kTables[5][(low >> 16) & 0xFF] ^
          kTables[4][low >> 24] ^ kTables[3][at[4]] ^ kTables[2][at[5]] ^ kTables[1][at[6]] ^ kTables[0][at[7]];
  }
  for (; left > 0; ++at, --left) sum = (sum >> 8) ^ kTables[0][(sum ^ *at) & 0xFF];
  return ~sum;
}

bool crc32c_has_instruction() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("sse4.2") != 0;
#else
  return false;
#endif
}

std::uint32_t crc32c(std::string_view bytes, std::uint32_t before) {
#if defined(__x86_64__)
  static const bool has_instruction = crc32c_has_instruction();
  if (has_instruction) return crc32c_instruction(bytes, before);
#endif
  return crc32c_table(bytes, before);
}

}  // namespace afore
