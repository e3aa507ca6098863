#pragma once
// Demand records, of which a stream has one per target, read from their line without a tree and without allocating.
#include <string_view>

#include "core/records.h"
#include "wire/decode.h"

namespace afore::wire {

// Whether `line` is a demand record that has only the keys of docs/records.md, in any order and with any blanks, and
// that decode_demand() accepts; `demand` then is what that returns, its buffer reused. Otherwise false, whatever the
// reason, and `demand` is unspecified: JsonTree reads the line anew and knows what to say. Also false for what is
// correct and rare: escapes in keys and names, integers of 16 digits, and demand where the number of experts is not
// known from the header or from a demand before.
bool read_demand_line(std::string_view line, const DecodeContext& context, Demand& demand);

}  // namespace afore::wire
