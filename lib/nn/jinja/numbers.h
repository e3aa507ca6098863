#pragma once
// Numbers in text, as Python's int() and float() read them, and what several builtins share.
#include <optional>
#include <string>
#include <string_view>

#include "nn/jinja/run.h"

namespace afore::nn::jinja {

std::optional<std::int64_t> parse_integer(Run& run, std::string_view text);  // Error{data} beyond 64 bits
std::optional<double> parse_float(std::string_view text);

// str.replace() within bounds.
Value replace_text(Run& run, std::string_view text, std::string_view from, std::string_view to, std::int64_t max);

}  // namespace afore::nn::jinja
