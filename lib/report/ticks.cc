#include "report/ticks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace afore::report {
namespace {

// The largest power of ten that is not above `value` > 0, without the C library's log10, whose last bit differs.
double power_below(double value, int& exponent) {
  double power = 1;
  exponent = 0;
  for (; power * 10 <= value; ++exponent) power *= 10;
  for (; power > value; --exponent) power /= 10;
  return power;
}

}  // namespace

Ticks linear_ticks(double lo, double hi, int most) {
  Ticks ticks;
  if (!(hi > lo)) {
    ticks.values = {lo};
    return ticks;
  }
  int exponent = 0;
  const double power = power_below((hi - lo) / most, exponent);
  double step = power * 10;
  int decimals = std::max(0, -exponent - 1);
  const double slack = 1e-9 * (hi - lo);
  const auto first = [&](double each) { return std::ceil((lo - slack) / each); };
  const auto last = [&](double each) { return std::floor((hi + slack) / each); };
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (last(power * factor) - first(power * factor) + 1 > most) continue;
    step = power * factor;
    decimals = std::max(0, -exponent);
    break;
  }
  ticks.decimals = decimals;
  // Beyond 2^53 two multiples may be one double: counted by an int, the loop ends there too.
  const double from = first(step), to = last(step);
  for (int i = 0; i < most && from + i <= to; ++i) {
    const double value = (from + i) * step + 0.0;
    if (ticks.values.empty() || value > ticks.values.back()) ticks.values.push_back(value);
  }
  return ticks;
}

Ticks log_ticks(double lo, double hi, int most) {
  for (const auto& factors : {std::vector<double>{1, 2, 5}, std::vector<double>{1}}) {
    Ticks ticks;
    int exponent = 0;
    for (double power = power_below(lo, exponent); power <= hi; power *= 10)
      for (const double factor : factors)
        if (power * factor >= lo * (1 - 1e-9) && power * factor <= hi * (1 + 1e-9))
          ticks.values.push_back(power * factor);
    ticks.decimals = std::max(0, -exponent);
    if (static_cast<int>(ticks.values.size()) <= most || factors.size() == 1) return ticks;
  }
  return {};
}

std::vector<int> index_ticks(int count, int most) {
  int step = 1;
  while ((count + step - 1) / step > most) step *= 2;
  std::vector<int> indices;
  for (int i = 0; i < count; i += step) indices.push_back(i);
  return indices;
}

std::string fixed(double value, int decimals) {
  std::string text = fmt::format("{:.{}f}", std::abs(value), decimals);
  const std::size_t point = std::min(text.find('.'), text.size());
  for (std::size_t i = point; i > 3;) text.insert(i -= 3, 1, ',');
  const bool zero = text.find_first_of("123456789") == std::string::npos;
  return (value < 0 && !zero ? "-" : "") + text;
}

std::string grouped(std::int64_t value) { return fixed(static_cast<double>(value), 0); }

std::string brief(double value) {
  const double size = std::abs(value);
  if (size == 0) return "0";
  if (size >= 1e13) return fmt::format("{:.3g}", value);
  if (size >= 9.995e9) return fixed(value / 1e9, size < 9.995e10 ? 1 : 0) + "G";
  if (size >= 9.995e6) return fixed(value / 1e6, size < 9.995e7 ? 1 : 0) + "M";
  if (size >= 99.95) return fixed(value, 0);
  if (size >= 9.995) return fixed(value, 1);
  if (size >= 0.9995) return fixed(value, 2);
  if (size >= 0.0995) return fixed(value, 3);
  return fmt::format("{:.3g}", value);
}

Unit time_unit(double ns) {
  if (ns >= 1e9) return {1e9, "s"};
  if (ns >= 1e6) return {1e6, "ms"};
  if (ns >= 1e3) return {1e3, "us"};
  return {1, "ns"};
}

Unit byte_unit(double bytes) {
  constexpr std::array<const char*, 5> kNames = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t i = 0;
  double size = 1;
  for (; i + 1 < kNames.size() && bytes >= size * 1024; ++i) size *= 1024;
  return {size, kNames[i]};
}

}  // namespace afore::report
