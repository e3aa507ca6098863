#include "nn/quantised.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "nn/bf16.h"
#include "util/rng.h"

namespace afore::nn {
namespace {

using Rows = std::vector<std::uint16_t>;

std::uint16_t narrow(double value) { return round_to_bf16(std::bit_cast<std::uint32_t>(static_cast<float>(value))); }
double widen(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

Rows normal_rows(std::uint64_t seed, std::int64_t count) {
  Rng rng(seed, "rows");
  Rows rows;
  for (std::int64_t i = 0; i < count; ++i) rows.push_back(narrow(0.02 * rng.normal()));
  return rows;
}

double squared_error(const Rows& a, const Rows& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::pow(widen(a[i]) - widen(b[i]), 2);
  return sum;
}

// By the whole range of each group, as round-to-nearest is written down everywhere.
Rows by_range(const Rows& rows, std::int64_t k, std::int64_t group) {
  Rows out(rows.size());
  const std::int64_t n = std::ssize(rows) / k;
  for (std::int64_t row = 0; row < n; ++row) {
    for (std::int64_t first = 0; first < k; first += group) {
      const std::int64_t last = std::min(k, first + group);
      double low = 0, high = 0;
      for (std::int64_t i = first; i < last; ++i) {
        low = std::min(low, widen(rows[row * k + i]));
        high = std::max(high, widen(rows[row * k + i]));
      }
      const double scale = (high - low) / 15, zero = std::round(-low / scale);
      for (std::int64_t i = first; i < last; ++i)
        out[row * k + i] =
            narrow((std::clamp(std::round(widen(rows[row * k + i]) / scale) + zero, 0.0, 15.0) - zero) * scale);
    }
  }
  return out;
}

TEST(Quantised, ValuesOnAGridComeBackAsTheyWere) {
  // Sixteen steps of 1/32 from -5/32 on, in another order in each row.
  const std::int64_t n = 20, k = 64;
  Rng rng(3, "grid");
  Rows rows;
  for (std::int64_t row = 0; row < n; ++row)
    for (std::int64_t i = 0; i < k; ++i)
      rows.push_back(narrow((static_cast<double>(i < 16 ? i : rng.below(16)) - 5) / 32));
  EXPECT_EQ(unpack(quantise(rows, n, k, 32)).size(), rows.size());
  EXPECT_EQ(unpack(quantise(rows, n, k, 64)), rows);
}

TEST(Quantised, LosesLessThanByTheWholeRange) {
  const std::int64_t n = 48, k = 512;
  const Rows rows = normal_rows(1, n * k);
  const double square = squared_error(rows, Rows(rows.size(), 0));
  for (const int group : {64, 128}) {
    const double error = squared_error(rows, unpack(quantise(rows, n, k, group)));
    EXPECT_LT(error, 0.95 * squared_error(rows, by_range(rows, k, group))) << group;
    EXPECT_LT(std::sqrt(error / square), 0.1) << group;
  }
  EXPECT_LT(squared_error(rows, unpack(quantise(rows, n, k, 64))),
            squared_error(rows, unpack(quantise(rows, n, k, 128))));
}

TEST(Quantised, NoValueIsFartherThanAStepOrWhatItsRangeLeavesOut) {
  const std::int64_t n = 16, k = 256;
  const int group = 128;
  const Rows rows = normal_rows(2, n * k);
  const QuantisedMatrix matrix = quantise(rows, n, k, group);
  const Rows back = unpack(matrix);
  for (std::int64_t row = 0; row < n; ++row) {
    for (std::int64_t i = 0; i < k; ++i) {
      const std::int64_t place = i / group * kQuantisedPanel + row;
      const double scale = widen(matrix.scales[place]);
      const int zero = matrix.zeros[place / 2] >> (row % 2 * 4) & 15;
      const double value = widen(rows[row * k + i]), got = widen(back[row * k + i]);
      const double inside = std::clamp(value, -zero * scale, (15 - zero) * scale);
      EXPECT_LE(std::abs(inside - got), 0.5 * scale + std::abs(got) / 256) << row << " " << i;
    }
  }
}

TEST(Quantised, AnyShapeAndOddGroupsAtTheEnd) {
  for (const auto& [n, k] : {std::pair<int, int>{1, 1}, {16, 64}, {17, 77}, {5, 130}, {33, 65}}) {
    const Rows rows = normal_rows(static_cast<std::uint64_t>(n), std::int64_t{n} * k);
    for (const int group : {2, 64, 128}) {
      const QuantisedMatrix matrix = quantise(rows, n, k, group);
      const Rows back = unpack(matrix);
      ASSERT_EQ(back.size(), rows.size());
      // Of two values one is an end of the range that includes 0.
      const double most = group == 2 ? 0.02 : 0.12;
      EXPECT_LT(squared_error(rows, back), most * squared_error(rows, Rows(rows.size(), 0))) << n << "x" << k;
      EXPECT_EQ(matrix.bytes(), std::ssize(matrix.codes) + 2 * std::ssize(matrix.scales) + std::ssize(matrix.zeros));
    }
  }
}

TEST(Quantised, GroupsOfOneValueOrOneSign) {
  const double values[] = {0, 0.5, -0.5, 3, -7e30, 1e-30, 1e-38, -1e-40};
  for (const double value : values) {
    const Rows rows(2 * 64, narrow(value));
    const Rows back = unpack(quantise(rows, 2, 64, 64));
    for (const std::uint16_t got : back)
      EXPECT_NEAR(widen(got), widen(rows[0]), std::max(std::abs(value) / 200, 1.1e-38)) << value;
  }
  Rows positive = normal_rows(4, 128);
  for (std::uint16_t& value : positive) value &= 0x7FFF;
  const QuantisedMatrix matrix = quantise(positive, 1, 128, 128);
  EXPECT_EQ(matrix.zeros[0] & 15, 0) << "the whole range is for the values that are there";
}

TEST(Quantised, TakesAQuarterAndALittle) {
  const std::int64_t n = 256, k = 1024;
  const QuantisedMatrix matrix = quantise(normal_rows(5, n * k), n, k, 128);
  // 4 bits each; 16 bits of scale and 4 of zero point for 128.
  EXPECT_EQ(matrix.bytes(), n * k / 2 + n * k / 128 * 5 / 2);
}

}  // namespace
}  // namespace afore::nn
