#pragma once
// Values that prompt lines and requests have in common. Error{data} with the value's place.
#include <string>
#include <vector>

#include "wire/json_tree.h"

namespace afore::wire {

// `fact` is the message of numbers out of [least, most].
double number_in(JsonValue value, double least, double most, const char* fact);

inline constexpr double kLeastTopP = 1e-9;

// null, a text or a list of up to kMaxStops; appends.
void read_stop_texts(JsonValue value, std::vector<std::string>& stop);

}  // namespace afore::wire
