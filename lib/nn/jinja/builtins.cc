#include "nn/jinja/builtins.h"

#include <fmt/format.h>

#include <algorithm>

#include "nn/jinja/operators.h"

namespace afore::nn::jinja {

const Filter* find_filter(std::string_view name) {
  for (const std::span<const Filter> filters : {text_filters(), sequence_filters()})
    for (const Filter& filter : filters)
      if (filter.name == name) return &filter;
  return nullptr;
}

const std::string& text_argument(Run& run, std::string_view of, const Value& value) {
  const std::string* text = as_text(value);
  if (text == nullptr) run.fail(fmt::format("{} takes a string, not {}", of, type_name(value)));
  return *text;
}

std::int64_t integer_argument(Run& run, std::string_view of, const Value* value, std::int64_t if_absent) {
  std::int64_t integer = if_absent;
  if (value != nullptr && as_integer(*value, integer) == nullptr)
    run.fail(fmt::format("{} takes an integer, not {}", of, type_name(*value)));
  return integer;
}

bool has_python_attribute(const Value& value, std::string_view name) {
  static constexpr std::string_view kText[] = {
      "capitalize", "casefold",     "center",       "count",   "encode",     "endswith",    "expandtabs",
      "find",       "format",       "format_map",   "index",   "isalnum",    "isalpha",     "isascii",
      "isdecimal",  "isdigit",      "isidentifier", "islower", "isnumeric",  "isprintable", "isspace",
      "istitle",    "isupper",      "join",         "ljust",   "lower",      "lstrip",      "maketrans",
      "partition",  "removeprefix", "removesuffix", "replace", "rfind",      "rindex",      "rjust",
      "rpartition", "rsplit",       "rstrip",       "split",   "splitlines", "startswith",  "strip",
      "swapcase",   "title",        "translate",    "upper",   "zfill"};
  static constexpr std::string_view kMapping[] = {"clear", "copy",    "fromkeys",   "get",    "items", "keys",
                                                  "pop",   "popitem", "setdefault", "update", "values"};
  static constexpr std::string_view kList[] = {"append", "clear", "copy",   "count",   "extend", "index",
                                               "insert", "pop",   "remove", "reverse", "sort"};
  static constexpr std::string_view kTuple[] = {"count", "index"};
  const auto in = [name](auto& names) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
  };
  if (as_text(value) != nullptr) return in(kText);
  if (as_mapping(value) != nullptr) return in(kMapping);
  const Sequence* sequence = as_sequence(value);
  if (sequence != nullptr && sequence->flavour == Flavour::list) return in(kList);
  return sequence != nullptr && sequence->flavour == Flavour::tuple && in(kTuple);
}

Value attribute_path(Run& run, Value value, const Value& path) {
  std::int64_t index = 0;
  std::string_view rest;
  if (as_integer(path, index) == nullptr) rest = text_argument(run, "an attribute", path);
  do {
    const std::size_t dot = std::min(rest.find('.'), rest.size());
    const std::string part(rest.substr(0, dot));
    const bool digits = !part.empty() && part.find_first_not_of("0123456789") == part.npos;
    if (digits && part.size() > 15) run.fail("an index that is too large");
    const Value key = as_text(path) == nullptr ? path
                      : digits                 ? Value(static_cast<std::int64_t>(std::stoll(part)))
                                               : run.text(part);
    if (is_undefined(value)) run.fail("an attribute of undefined");
    Value found = item_of(run, value, key);
    if (is_undefined(found) && has_python_attribute(value, part))
      run.fail(fmt::format("the method {} as a value is not computed", part));
    value = std::move(found);
    rest = dot == rest.size() ? std::string_view() : rest.substr(dot + 1);
    if (dot == rest.size() && rest.empty()) break;
  } while (!rest.empty());
  return value;
}

}  // namespace afore::nn::jinja
