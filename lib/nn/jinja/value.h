#pragma once
// What expressions of a template give: Python's values, all of them immutable but namespaces. Lists and mappings are
// shared, never copied; namespaces and macros belong to the run that made them.
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace afore::nn::jinja {

struct Sequence;
struct Mapping;
struct Namespace;
struct Macro;

struct Undefined {
  int name = -1;  // in Program::names, for messages; -1 = none
};
struct None {};
enum class Function { range, dict, new_namespace, raise_exception };

using Text = std::shared_ptr<const std::string>;  // UTF-8
using Value = std::variant<Undefined, None, bool, std::int64_t, double, Text, std::shared_ptr<const Sequence>,
                           std::shared_ptr<const Mapping>, Namespace*, const Macro*, Function>;

// What Python would have made; they differ in what may be done with them.
enum class Flavour { list, tuple, range, view, generator };

struct Sequence {
  Flavour flavour = Flavour::list;
  std::vector<Value> items;
  int depth = 1;                     // of lists and mappings in one another
  mutable std::size_t consumed = 0;  // of a generator, which can be gone through once
};

struct Mapping {
  std::vector<std::pair<Value, Value>> members;  // in the order of insertion
  int depth = 1;
};

struct Namespace {
  std::vector<std::pair<int, Value>> members;  // by the name's number in Program::names
};

inline bool is_undefined(const Value& value) { return std::holds_alternative<Undefined>(value); }
inline bool is_none(const Value& value) { return std::holds_alternative<None>(value); }
inline const std::string* as_text(const Value& value) {
  const Text* text = std::get_if<Text>(&value);
  return text == nullptr ? nullptr : text->get();
}
inline const Sequence* as_sequence(const Value& value) {
  const auto* held = std::get_if<std::shared_ptr<const Sequence>>(&value);
  return held == nullptr ? nullptr : held->get();
}
inline const Mapping* as_mapping(const Value& value) {
  const auto* held = std::get_if<std::shared_ptr<const Mapping>>(&value);
  return held == nullptr ? nullptr : held->get();
}
// Booleans are integers, as in Python.
const std::int64_t* as_integer(const Value& value, std::int64_t& room);
bool is_number(const Value& value);
double as_double(const Value& value);  // of a number

bool truth(const Value& value);
inline bool is_set(const Value* argument) { return argument != nullptr && truth(*argument); }  // given, and true
const char* type_name(const Value& value);                                                     // Python's, for messages

}  // namespace afore::nn::jinja
