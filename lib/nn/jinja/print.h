#pragma once
// Values as text: Python's str(), repr() and json.dumps().
#include <optional>
#include <string>

#include "nn/jinja/run.h"

namespace afore::nn::jinja {

std::string str(Run& run, const Value& value);   // Error{data} for what Python would name by its address
std::string repr(Run& run, const Value& value);  // as str(), but for strings
std::string number_text(double number);          // repr(float)

struct JsonStyle {
  std::optional<std::string> indent;  // of one level; none: all on one line
  std::string item_separator = ", ", key_separator = ": ";
  bool ensure_ascii = false, sort_keys = false;
};
std::string to_json(Run& run, const Value& value, const JsonStyle& style);

}  // namespace afore::nn::jinja
