#include <cstring>

#include "device/cpu/packed.h"
#include "util/error.h"

namespace afore::device::cpu {

void pack(std::span<const std::uint16_t> rows, std::int64_t n, std::int64_t k, std::byte* out) {
  AFORE_CHECK(static_cast<std::int64_t>(rows.size()) == n * k, "a matrix of another size");
  for (std::int64_t first = 0; first < n; first += kPanel) {
    const int filled = static_cast<int>(n - first < kPanel ? n - first : kPanel);
    const std::uint16_t* row = rows.data() + first * k;
    for (std::int64_t at = 0; at < k; at += 2) {
      std::uint16_t line[kPanel][2] = {};
      const bool whole = at + 1 < k;
      for (int i = 0; i < filled; ++i) {
        line[i][0] = row[i * k + at];
        if (whole) line[i][1] = row[i * k + at + 1];
      }
      std::memcpy(out, line, sizeof(line));
      out += sizeof(line);
    }
  }
}

}  // namespace afore::device::cpu
