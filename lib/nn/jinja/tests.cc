// Tests: what stands behind `is`.
#include <fmt/format.h>

#include "nn/jinja/builtins.h"
#include "nn/jinja/operators.h"
#include "nn/jinja/print.h"
#include "nn/jinja/python_text.h"

namespace afore::nn::jinja {
namespace {

using Holds = bool (*)(Run&, const Value&, const Arguments&);

template <class Type>
bool is_a(Run&, const Value& value, const Arguments&) {
  return std::holds_alternative<Type>(value);
}

bool is_defined(Run&, const Value& value, const Arguments&) { return !is_undefined(value); }
bool is_number_test(Run&, const Value& value, const Arguments&) { return is_number(value); }
bool is_mapping(Run&, const Value& value, const Arguments&) { return as_mapping(value) != nullptr; }

template <bool expected>
bool is_boolean(Run&, const Value& value, const Arguments&) {
  const bool* held = std::get_if<bool>(&value);
  return held != nullptr && *held == expected;
}

bool is_iterable(Run&, const Value& value, const Arguments&) {
  return as_sequence(value) != nullptr || as_mapping(value) != nullptr || as_text(value) != nullptr ||
         is_undefined(value);
}

// What has a length and items.
bool is_sequence(Run& run, const Value& value, const Arguments& given) {
  const Sequence* sequence = as_sequence(value);
  if (sequence == nullptr) return is_iterable(run, value, given);
  return sequence->flavour != Flavour::view && sequence->flavour != Flavour::generator;
}

bool is_callable(Run&, const Value& value, const Arguments&) {
  return is_undefined(value) || std::holds_alternative<const Macro*>(value) || std::holds_alternative<Function>(value);
}

template <Comparison op>
bool compares(Run& run, const Value& value, const Arguments& given) {
  return compare(run, op, value, *given[0]);
}

template <int parity>
bool has_parity(Run& run, const Value& value, const Arguments&) {
  if (!is_number(value)) run.fail(fmt::format("odd or even of {}", type_name(value)));
  return equal(run, compute(run, Operator::modulo, value, std::int64_t{2}), std::int64_t{parity});
}

bool is_divisible(Run& run, const Value& value, const Arguments& given) {
  if (!is_number(value) || !is_number(*given[0])) run.fail("divisibleby of what is no number");
  return equal(run, compute(run, Operator::modulo, value, *given[0]), std::int64_t{0});
}

bool is_same(Run& run, const Value& value, const Value& other) {
  const bool known = is_none(value) || is_none(other) || std::holds_alternative<bool>(value) ||
                     std::holds_alternative<bool>(other) || is_undefined(value) || is_undefined(other);
  if (!known) run.fail("sameas is computed of none, true and false only");
  return !is_undefined(value) && value.index() == other.index() && equal(run, value, other);
}

bool same_as(Run& run, const Value& value, const Arguments& given) { return is_same(run, value, *given[0]); }

// str.islower() and str.isupper() by way of the mappings: a title case letter is neither.
template <std::string (*change)(std::string_view), std::string (*other)(std::string_view)>
bool has_case(Run& run, const Value& value, const Arguments&) {
  const std::string text = str(run, value);
  run.charge(text.size() / 8);
  return change(text) == text && other(text) != text;
}

#define COMPARES(op) compares<Comparison::op>
constexpr Signature one(std::string_view name) { return {name, 1, {"b"}}; }

constexpr Test kTests[] = {
    {{"defined"}, is_defined},
    {{"undefined"}, is_a<Undefined>},
    {{"none"}, is_a<None>},
    {{"boolean"}, is_a<bool>},
    {{"true"}, is_boolean<true>},
    {{"false"}, is_boolean<false>},
    {{"integer"}, is_a<std::int64_t>},
    {{"float"}, is_a<double>},
    {{"number"}, is_number_test},
    {{"string"}, is_a<Text>},
    {{"mapping"}, is_mapping},
    {{"sequence"}, is_sequence},
    {{"iterable"}, is_iterable},
    {{"callable"}, is_callable},
    {{"odd"}, has_parity<1>},
    {{"even"}, has_parity<0>},
    {{"divisibleby", 1, {"num"}}, is_divisible},
    {{"sameas", 1, {"other"}}, same_as},
    {{"lower"}, has_case<lower, upper>},
    {{"upper"}, has_case<upper, lower>},
    {one("in"), COMPARES(in)},
    {one("eq"), COMPARES(equal)},
    {one("equalto"), COMPARES(equal)},
    {one("=="), COMPARES(equal)},
    {one("ne"), COMPARES(unequal)},
    {one("!="), COMPARES(unequal)},
    {one("lt"), COMPARES(less)},
    {one("lessthan"), COMPARES(less)},
    {one("<"), COMPARES(less)},
    {one("le"), COMPARES(less_equal)},
    {one("<="), COMPARES(less_equal)},
    {one("gt"), COMPARES(greater)},
    {one("greaterthan"), COMPARES(greater)},
    {one(">"), COMPARES(greater)},
    {one("ge"), COMPARES(greater_equal)},
    {one(">="), COMPARES(greater_equal)},
};
#undef COMPARES

}  // namespace

const Test* find_test(std::string_view name) {
  for (const Test& test : kTests)
    if (test.name == name) return &test;
  return nullptr;
}

}  // namespace afore::nn::jinja
