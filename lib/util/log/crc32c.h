#pragma once
// CRC-32C (Castagnoli, polynomial 0x1EDC6F41 reflected; RFC 3720, appendix B.4), with the CPU's instruction where it
// has one and a table elsewhere: the same values.
#include <cstdint>
#include <string_view>

namespace afore {

// Of `bytes`; `before` is the value of the bytes in front of them, so that a sum can be taken in pieces.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0);

// The two ways, for tests: crc32c() is one of them.
std::uint32_t crc32c_table(std::string_view bytes, std::uint32_t before = 0);
bool crc32c_has_instruction();

}  // namespace afore
