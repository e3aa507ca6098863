#include "nn/jinja/operators.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace afore::nn::jinja {
namespace {

constexpr const char* kSigns[] = {"+", "-", "*", "/", "//", "%", "**"};

[[noreturn]] void fail_range(Run& run) { run.fail("an integer beyond 64 bits"); }

std::int64_t integer_power(Run& run, std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  if (base == 0 || base == 1) return exponent == 0 ? 1 : base;
  if (base == -1) return exponent % 2 == 0 ? 1 : -1;
  for (std::int64_t i = 0; i < exponent; ++i)
    if (__builtin_mul_overflow(result, base, &result)) fail_range(run);
  return result;
}

// Towards minus infinity, as Python; b is not 0.
std::int64_t floor_quotient(Run& run, std::int64_t a, std::int64_t b) {
  if (a == std::numeric_limits<std::int64_t>::min() && b == -1) fail_range(run);
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

double float_remainder(double a, double b) {
  double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  if ((rest < 0) != (b < 0)) rest += b;
  return rest;
}

double floor_quotient(double a, double b) {
  const double quotient = (a - float_remainder(a, b)) / b;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double whole = std::floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}

Value of_integers(Run& run, Operator op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  bool over = false;
  switch (op) {
    case Operator::add: over = __builtin_add_overflow(a, b, &result); break;
    case Operator::subtract: over = __builtin_sub_overflow(a, b, &result); break;
    case Operator::multiply: over = __builtin_mul_overflow(a, b, &result); break;
    case Operator::divide: return static_cast<double>(a) / static_cast<double>(b);
    case Operator::floor_divide: return floor_quotient(run, a, b);
    case Operator::modulo: return b == -1 ? 0 : a - b * floor_quotient(run, a, b);
    case Operator::power:
      if (b < 0) return std::pow(static_cast<double>(a), static_cast<double>(b));
      return integer_power(run, a, b);
  }
  if (over) fail_range(run);
  return result;
}

Value of_floats(Run& run, Operator op, double a, double b) {
  switch (op) {
    case Operator::add: return a + b;
    case Operator::subtract: return a - b;
    case Operator::multiply: return a * b;
    case Operator::divide: return a / b;
    case Operator::floor_divide: return floor_quotient(a, b);
    case Operator::modulo: return float_remainder(a, b);
    case Operator::power: break;
  }
  const double result = std::pow(a, b);
  if (std::isfinite(a) && std::isfinite(b) && !std::isfinite(result)) run.fail("** has no finite float as its result");
  return result;
}

Value of_numbers(Run& run, Operator op, const Value& a, const Value& b) {
  const bool divides = op == Operator::divide || op == Operator::floor_divide || op == Operator::modulo;
  if (divides && as_double(b) == 0) run.fail("a division by zero");
  if (op == Operator::power && as_double(a) == 0 && as_double(b) < 0) run.fail("zero to a negative power");
  std::int64_t room_a = 0, room_b = 0;
  const std::int64_t *left = as_integer(a, room_a), *right = as_integer(b, room_b);
  if (left != nullptr && right != nullptr) return of_integers(run, op, *left, *right);
  return of_floats(run, op, as_double(a), as_double(b));
}

// Whether a sequence can be added to and repeated.
bool is_plain(const Value& value) {
  const Sequence* sequence = as_sequence(value);
  return sequence != nullptr && (sequence->flavour == Flavour::list || sequence->flavour == Flavour::tuple);
}

Value repeated(Run& run, const Value& value, std::int64_t times) {
  times = std::max<std::int64_t>(times, 0);
  if (const std::string* text = as_text(value)) {
    if (!text->empty() && static_cast<std::uint64_t>(times) > kMaxTextBytes / text->size())
      run.charge_bytes(kMaxTextBytes + 1);
    run.charge_bytes(text->size() * static_cast<std::size_t>(times));
    std::string result;
    for (std::int64_t i = 0; !text->empty() && i < times; ++i) result += *text;
    return run.text(std::move(result));
  }
  const Sequence& sequence = *as_sequence(value);
  std::vector<Value> items;
  for (std::int64_t i = 0; !sequence.items.empty() && i < times; ++i) {
    run.charge(sequence.items.size());
    items.insert(items.end(), sequence.items.begin(), sequence.items.end());
  }
  return run.sequence(sequence.flavour, std::move(items));
}

}  // namespace

Value compute(Run& run, Operator op, const Value& a, const Value& b) {
  if (is_number(a) && is_number(b)) return of_numbers(run, op, a, b);
  const std::string *left = as_text(a), *right = as_text(b);
  if (op == Operator::add && left != nullptr && right != nullptr) {
    run.charge_bytes(left->size() + right->size());
    return run.text(*left + *right);
  }
  if (op == Operator::add && is_plain(a) && is_plain(b) && as_sequence(a)->flavour == as_sequence(b)->flavour) {
    std::vector<Value> items = as_sequence(a)->items;
    items.insert(items.end(), as_sequence(b)->items.begin(), as_sequence(b)->items.end());
    return run.sequence(as_sequence(a)->flavour, std::move(items));
  }
  if (op == Operator::multiply) {
    std::int64_t room = 0;
    if (as_integer(b, room) != nullptr && (left != nullptr || is_plain(a))) return repeated(run, a, room);
    if (as_integer(a, room) != nullptr && (right != nullptr || is_plain(b))) return repeated(run, b, room);
  }
  if (op == Operator::modulo && left != nullptr) run.fail("% of a string is not computed");
  run.fail(fmt::format("{} {} {}", type_name(a), kSigns[static_cast<int>(op)], type_name(b)));
}

Value negate(Run& run, const Value& value) {
  if (const double* number = std::get_if<double>(&value)) return -*number;
  std::int64_t room = 0;
  if (as_integer(value, room) == nullptr) run.fail(fmt::format("- of {}", type_name(value)));
  if (room == std::numeric_limits<std::int64_t>::min()) fail_range(run);
  return -room;
}

}  // namespace afore::nn::jinja
