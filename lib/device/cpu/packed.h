#pragma once
// Weights as the kernels read them. A matrix [n][k] is cut into panels of kPanel rows; a panel holds, for each pair of
// k, its kPanel rows' two values side by side: [ceil(n/kPanel)][ceil(k/2)][kPanel][2] bf16, zeros where n or k end
// early. One 64-byte line is one pair of k, the form of VDPBF16PS; AVX2 widens the two halves of a lane by shift and
// mask. An expert is one block, gate | up | down, so that one copy moves it.
#include <cstddef>
#include <cstdint>
#include <span>

namespace afore::device::cpu {

inline constexpr int kPanel = 16;
// Rows of a tile of the grouped expert FFN: the M tile that plans for this device count in.
inline constexpr int kTileTokens = 8;

struct Packed {
  std::int64_t n = 0, k = 0;
  const std::byte* data = nullptr;  // packed_bytes(n, k), aligned to 64
};

constexpr std::size_t packed_bytes(std::int64_t n, std::int64_t k) {
  return static_cast<std::size_t>((n + kPanel - 1) / kPanel * ((k + 1) / 2)) * kPanel * 2 * sizeof(std::uint16_t);
}
// `rows`: [n][k] bf16, C order. `out`: packed_bytes(n, k).
void pack(std::span<const std::uint16_t> rows, std::int64_t n, std::int64_t k, std::byte* out);

struct ExpertShape {
  std::int64_t hidden = 0, intermediate = 0;

  constexpr std::size_t up_bytes() const { return packed_bytes(intermediate, hidden); }  // gate or up
  constexpr std::size_t down_bytes() const { return packed_bytes(hidden, intermediate); }
  constexpr std::size_t bytes() const { return 2 * up_bytes() + down_bytes(); }
  Packed gate(const std::byte* block) const { return {intermediate, hidden, block}; }
  Packed up(const std::byte* block) const { return {intermediate, hidden, block + up_bytes()}; }
  Packed down(const std::byte* block) const { return {hidden, intermediate, block + 2 * up_bytes()}; }
};

}  // namespace afore::device::cpu
