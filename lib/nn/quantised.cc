#include "nn/quantised.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "nn/bf16.h"
#include "util/error.h"

namespace afore::nn {
namespace {

constexpr float kMostCode = 15;
constexpr int kRanges = 9;  // 1, 0.95, … 0.6 of the values' own
constexpr float kRangeStep = 0.05f;
constexpr float kLeastScale = std::numeric_limits<float>::min();  // its inverse is finite

float widen(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
std::uint16_t narrow(float value) { return round_to_bf16(std::bit_cast<std::uint32_t>(value)); }

// One group's codes under a scale and a zero point, and what they lose.
struct Coded {
  std::uint16_t scale = 0;  // bf16
  int zero = 0;
  double error = std::numeric_limits<double>::infinity();  // squared, summed
  std::vector<std::uint8_t> codes;
};

void code(std::span<const float> values, std::uint16_t scale_bits, int zero, Coded& out) {
  const float scale = widen(scale_bits), inverse = scale > 0 ? 1 / scale : 0;
  out.scale = scale_bits;
  out.zero = zero;
  out.codes.resize(values.size());
  double error = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float place = std::clamp(values[i] * inverse + static_cast<float>(zero), 0.0f, kMostCode);
    const int nearest = static_cast<int>(place + 0.5f);
    out.codes[i] = static_cast<std::uint8_t>(nearest);
    const float lost = values[i] - static_cast<float>(nearest - zero) * scale;
    error += static_cast<double>(lost) * static_cast<double>(lost);
  }
  out.error = error;
}

// Codes values of one group into `best`; `trial` is memory. The range includes 0, so that it has a zero point.
void code_best(std::span<const float> values, Coded& best, Coded& trial) {
  best.error = std::numeric_limits<double>::infinity();
  float low = 0, high = 0;
  for (const float value : values) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  for (int r = 0; r < kRanges; ++r) {
    const float share = 1 - kRangeStep * static_cast<float>(r);
    const float step = share * (high / kMostCode - low / kMostCode);
    const std::uint16_t scale = step < kLeastScale ? 0 : narrow(step);
    const float zero = scale == 0 ? 0 : std::clamp(-low * share / widen(scale), 0.0f, kMostCode);
    code(values, scale, static_cast<int>(zero + 0.5f), trial);
    if (trial.error < best.error) std::swap(best, trial);
  }
}

std::uint8_t in_half(int value, std::int64_t place) { return static_cast<std::uint8_t>(value << (place % 2 * 4)); }

}  // namespace

QuantisedMatrix quantise(std::span<const std::uint16_t> rows, std::int64_t n, std::int64_t k, int group) {
  AFORE_CHECK(std::ssize(rows) == n * k, "a matrix of another size");
  AFORE_CHECK(group > 0 && group % 2 == 0, "a group ends within a pair of inputs");
  QuantisedMatrix out{n, k, group, {}, {}, {}};
  const std::int64_t groups = out.groups(), pairs = out.pairs();
  out.codes.resize(static_cast<std::size_t>(out.panels() * pairs * kQuantisedPanel));
  out.scales.resize(static_cast<std::size_t>(out.panels() * groups * kQuantisedPanel));
  out.zeros.resize(out.scales.size() / 2);
  std::vector<float> values(static_cast<std::size_t>(group));
  Coded best, trial;
  for (std::int64_t row = 0; row < n; ++row) {
    const std::int64_t panel = row / kQuantisedPanel, lane = row % kQuantisedPanel;
    for (std::int64_t g = 0; g < groups; ++g) {
      const std::int64_t first = g * group, count = std::min<std::int64_t>(group, k - first);
      const std::span<float> mine = std::span(values).first(static_cast<std::size_t>(count));
      for (std::int64_t i = 0; i < count; ++i) mine[i] = widen(rows[row * k + first + i]);
      code_best(mine, best, trial);
      const std::int64_t place = (panel * groups + g) * kQuantisedPanel + lane;
      out.scales[place] = best.scale;
      out.zeros[place / 2] |= in_half(best.zero, lane);
      if (count % 2 != 0) best.codes.push_back(static_cast<std::uint8_t>(best.zero));
      for (std::int64_t i = 0; i < std::ssize(best.codes); ++i)
        out.codes[(panel * pairs + (first + i) / 2) * kQuantisedPanel + lane] |= in_half(best.codes[i], i);
    }
  }
  return out;
}

std::vector<std::uint16_t> unpack(const QuantisedMatrix& matrix) {
  std::vector<std::uint16_t> rows(static_cast<std::size_t>(matrix.n * matrix.k));
  const std::int64_t groups = matrix.groups(), pairs = matrix.pairs();
  for (std::int64_t row = 0; row < matrix.n; ++row) {
    const std::int64_t panel = row / kQuantisedPanel, lane = row % kQuantisedPanel;
    for (std::int64_t i = 0; i < matrix.k; ++i) {
      const std::int64_t place = (panel * groups + i / matrix.group) * kQuantisedPanel + lane;
      const int zero = matrix.zeros[place / 2] >> (lane % 2 * 4) & 15;
      const int code = matrix.codes[(panel * pairs + i / 2) * kQuantisedPanel + lane] >> (i % 2 * 4) & 15;
      rows[row * matrix.k + i] = narrow(static_cast<float>(code - zero) * widen(matrix.scales[place]));
    }
  }
  return rows;
}

}  // namespace afore::nn
