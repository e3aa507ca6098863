#pragma once
// Unicode's data for composed text, without Hangul syllables, which are computed. Rows are sorted by character.
#include <cstdint>
#include <span>

namespace afore::nn {

extern const std::span<const std::uint32_t> kNfcSingletons;  // rows of character, what it decomposes to
extern const std::span<const std::uint32_t> kNfcPairs;       // character, the two that make it, and compose to it
extern const std::span<const std::uint32_t> kNfcExcluded;    // character, the two that make it; they do not compose
extern const std::span<const std::uint32_t> kNfcClasses;     // first, last, their combining class; others have 0

}  // namespace afore::nn
