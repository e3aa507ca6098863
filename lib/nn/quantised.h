#pragma once
// Matrices in 4 bits. Each output (row) keeps a scale and a zero point for every `group` of consecutive inputs:
// value = (code - zero) * scale, rounded to bf16. Codes are round-to-nearest; of the values' own range and some that
// are narrower a group takes the one with the least squared error.
//
// Rows lie in panels of kQuantisedPanel, side by side, so that a panel is unpacked by vectors of rows.
#include <cstdint>
#include <span>
#include <vector>

namespace afore::nn {

inline constexpr int kQuantisedPanel = 16;

struct QuantisedMatrix {
  std::int64_t n = 0, k = 0;
  int group = 0;  // even
  // A byte is two consecutive inputs of a row, the first in its low half. What lies beyond n or k has the value 0.
  std::vector<std::uint8_t> codes;    // [panels][ceil(k/2)][kQuantisedPanel]
  std::vector<std::uint16_t> scales;  // [panels][groups][kQuantisedPanel], bf16
  std::vector<std::uint8_t> zeros;    // [panels][groups][kQuantisedPanel / 2], a byte is two rows, as above

  std::int64_t panels() const { return (n + kQuantisedPanel - 1) / kQuantisedPanel; }
  std::int64_t groups() const { return (k + group - 1) / group; }
  std::int64_t pairs() const { return (k + 1) / 2; }
  std::int64_t bytes() const { return std::ssize(codes) + 2 * std::ssize(scales) + std::ssize(zeros); }
};

// `rows`: [n][k] bf16, C order, finite.
QuantisedMatrix quantise(std::span<const std::uint16_t> rows, std::int64_t n, std::int64_t k, int group);
// The values, [n][k] bf16, C order.
std::vector<std::uint16_t> unpack(const QuantisedMatrix& matrix);

}  // namespace afore::nn
