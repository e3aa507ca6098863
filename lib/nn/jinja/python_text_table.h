#pragma once
// What Python's str says about code points: tables that scripts/generate-python-text-table writes.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>

namespace afore::nn::jinja {

struct CodePointRange {
  char32_t first, last;
};

// Every `step`-th code point from first to last becomes itself plus `by`.
struct CaseShift {
  char32_t first, last, step;
  std::int32_t by;
};

// A code point that becomes several; unused places are 0.
struct CaseExpansion {
  char32_t from;
  char32_t to[3];
};

// `ranges` ascend and are apart.
inline bool contains(std::span<const CodePointRange> ranges, char32_t code) {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), code,
                                      [](char32_t c, const CodePointRange& range) { return c < range.first; });
  return after != ranges.begin() && code <= std::prev(after)->last;
}

struct CaseTable {
  std::span<const CaseShift> shifts;  // ascending and apart
  std::span<const CaseExpansion> expansions;
};

extern const std::span<const CodePointRange> unprintable_ranges;     // escaped by repr()
extern const std::span<const CodePointRange> cased_ranges;           // letters with case, for the final sigma
extern const std::span<const CodePointRange> case_ignorable_ranges;  // looked past when the final sigma is looked for
extern const CaseTable upper_table, lower_table, title_table;

}  // namespace afore::nn::jinja
