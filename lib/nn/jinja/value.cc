#include "nn/jinja/value.h"

namespace afore::nn::jinja {
namespace {

bool truth_of(const Sequence& sequence) {
  return sequence.flavour == Flavour::generator || !sequence.items.empty();  // a generator does not know
}

}  // namespace

const std::int64_t* as_integer(const Value& value, std::int64_t& room) {
  if (const bool* boolean = std::get_if<bool>(&value)) return room = *boolean ? 1 : 0, &room;
  if (const std::int64_t* integer = std::get_if<std::int64_t>(&value)) return room = *integer, &room;
  return nullptr;
}

bool is_number(const Value& value) {
  return std::holds_alternative<bool>(value) || std::holds_alternative<std::int64_t>(value) ||
         std::holds_alternative<double>(value);
}

double as_double(const Value& value) {
  if (const double* number = std::get_if<double>(&value)) return *number;
  std::int64_t room = 0;
  as_integer(value, room);
  return static_cast<double>(room);
}

bool truth(const Value& value) {
  if (is_undefined(value) || is_none(value)) return false;
  if (is_number(value)) return as_double(value) != 0;
  if (const std::string* text = as_text(value)) return !text->empty();
  if (const Sequence* sequence = as_sequence(value)) return truth_of(*sequence);
  if (const Mapping* mapping = as_mapping(value)) return !mapping->members.empty();
  return true;
}

const char* type_name(const Value& value) {
  if (is_undefined(value)) return "undefined";
  if (is_none(value)) return "none";
  if (std::holds_alternative<bool>(value)) return "a boolean";
  if (std::holds_alternative<std::int64_t>(value)) return "an integer";
  if (std::holds_alternative<double>(value)) return "a float";
  if (as_text(value) != nullptr) return "a string";
  if (as_mapping(value) != nullptr) return "a mapping";
  if (std::holds_alternative<Namespace*>(value)) return "a namespace";
  if (std::holds_alternative<const Macro*>(value)) return "a macro";
  const Sequence* sequence = as_sequence(value);
  if (sequence == nullptr) return "a function";
  switch (sequence->flavour) {
    case Flavour::list: return "a list";
    case Flavour::tuple: return "a tuple";
    case Flavour::range: return "a range";
    case Flavour::view: return "a view of a mapping";
    case Flavour::generator: break;
  }
  return "a generator";
}

}  // namespace afore::nn::jinja
