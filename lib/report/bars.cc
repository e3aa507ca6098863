#include "report/bars.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace afore::report {
namespace {

constexpr std::array<const char*, 8> kUtf8 = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<const char*, 8> kAscii = {" ", ".", ":", "-", "=", "+", "*", "#"};

}  // namespace

std::string bars(std::span<const double> values, double full, std::size_t width, Charset charset) {
  const auto& glyphs = charset == Charset::utf8 ? kUtf8 : kAscii;
  const std::size_t columns = std::min(width, values.size());
  std::string line;
  for (std::size_t c = 0; c < columns; ++c) {
    const std::size_t begin = c * values.size() / columns, end = (c + 1) * values.size() / columns;
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += values[i];
    const double height = full > 0 ? sum / static_cast<double>(end - begin) / full : 0;
    line += glyphs[static_cast<std::size_t>(std::clamp(std::ceil(height * 8) - 1, 0.0, 7.0))];
  }
  return line;
}

}  // namespace afore::report
