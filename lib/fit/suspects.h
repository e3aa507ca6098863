#pragma once
// Tables that must not be fitted, and rows that look wrong.
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/measured.h"

namespace afore::fit {

// Error{data} naming both lines when two rows of one device have the same key and different times; copies of a row
// (same key, same time) are dropped but the first, and their number is returned.
std::size_t drop_repeats(std::vector<MeasuredTable>& tables);

// Error{data} when two tables of different devices have the same key in two rows or more and, in more than half of
// these, the same time to the last digit: machines do not agree like that, copied files do.
void refuse_copies(std::span<const MeasuredTable> tables);

// A series whose time falls by more than kFallTolerance from one size to the next one that is at least twice as large
// (medians where a size was measured more than once).
inline constexpr double kFallTolerance = 0.10;
struct Fall {
  std::string table;
  std::int64_t line = 0, larger_line = 0;  // of the first row of each size
  std::string group, label, larger_label;
  double time_ns = 0, larger_time_ns = 0;
};
std::vector<Fall> falling_times(const MeasuredTable& table);

}  // namespace afore::fit
