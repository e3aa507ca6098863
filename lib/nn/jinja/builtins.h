#pragma once
// What templates may name: filters, tests and methods, each with its parameters, so that a wrong name or argument is
// seen when the template is loaded.
#include <array>
#include <span>
#include <string_view>

#include "nn/jinja/run.h"

namespace afore::nn::jinja {

inline constexpr int kMaxParameters = 5;

// Arguments by place; null where none was given.
using Arguments = std::array<const Value*, kMaxParameters>;

struct Signature {
  std::string_view name;
  int required = 0;
  std::array<std::string_view, kMaxParameters> parameters{};  // by position and by keyword
};

struct Filter : Signature {
  Value (*apply)(Run& run, const Value& input, const Arguments& arguments) = nullptr;
};
struct Test : Signature {
  bool (*holds)(Run& run, const Value& input, const Arguments& arguments) = nullptr;
};
struct Method : Signature {
  Value (*call)(Run& run, const Value& object, const Arguments& arguments) = nullptr;
};

// Null for what is not known.
const Filter* find_filter(std::string_view name);
const Test* find_test(std::string_view name);
const Method* find_method(std::string_view name);

std::span<const Filter> text_filters();
std::span<const Filter> sequence_filters();

// Whether Python's values of this kind have an attribute of that name, which is then found before a mapping's member.
bool has_python_attribute(const Value& value, std::string_view name);

// Arguments of builtins: Error{data} for another type.
const std::string& text_argument(Run& run, std::string_view of, const Value& value);
std::int64_t integer_argument(Run& run, std::string_view of, const Value* value, std::int64_t if_absent);

// What filters' `attribute` names: a name, an index, or several of them with dots between.
Value attribute_path(Run& run, Value value, const Value& path);

}  // namespace afore::nn::jinja
