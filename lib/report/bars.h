#pragma once
// Small bar charts of one line, for terminals.
#include <cstdint>
#include <span>
#include <string>

namespace afore::report {

enum class Charset { utf8, ascii };  // ▁▂▃▄▅▆▇█ or " .:-=+*#"

// One bar per value, full height at `full` (> 0); 0 is the lowest bar. More values than `width`: neighbours are
// averaged, so that the line is at most `width` wide.
std::string bars(std::span<const double> values, double full, std::size_t width, Charset charset);

}  // namespace afore::report
