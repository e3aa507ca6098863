#pragma once
// The files of tests/wire/data/foreign, which tests/reference/foreign.py writes.
#include <cstdint>
#include <string>
#include <vector>

#include "util/line_io.h"
#include "wire_test_util.h"

namespace afore::wire {

inline std::vector<std::uint8_t> fixture(const std::string& name) {
  return read_file_bytes(std::string(AFORE_SOURCE_DIR "/tests/wire/data/foreign/") + name, 1 << 20);
}

inline std::string fixture_text(const std::string& name) {
  const std::vector<std::uint8_t> bytes = fixture(name);
  return {bytes.begin(), bytes.end()};
}

// start, start + 1, ...
inline std::vector<std::int64_t> numbers(std::int64_t count, std::int64_t start = 0) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < count; ++i) out.push_back(start + i);
  return out;
}

inline const std::vector<std::int64_t> kP2l = {0, 1, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3, 3, 2, 1, 0, 1, 1};

// Calls read(bytes) with every 64th prefix and expects a refusal.
template <class Read>
void expect_prefixes_refused(const std::vector<std::uint8_t>& bytes, Read&& read) {
  for (std::size_t size = 0; size < bytes.size(); size += 64) {
    const std::vector<std::uint8_t> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_NE(error_of([&] { read(cut); }), "no error") << size << " bytes of " << bytes.size();
  }
}

}  // namespace afore::wire
