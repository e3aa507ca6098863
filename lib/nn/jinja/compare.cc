// Equality, order and membership as Python has them.
#include <fmt/format.h>

#include <algorithm>

#include "nn/jinja/operators.h"

namespace afore::nn::jinja {
namespace {

[[noreturn]] void fail_order(Run& run, const Value& a, const Value& b) {
  run.fail(fmt::format("{} and {} have no order", type_name(a), type_name(b)));
}

// Integers exactly; an integer and a float as doubles, which only differs beyond 2^53.
template <class Compare>
bool compare_numbers(const Value& a, const Value& b, Compare&& compare) {
  std::int64_t room_a = 0, room_b = 0;
  const std::int64_t *left = as_integer(a, room_a), *right = as_integer(b, room_b);
  return left != nullptr && right != nullptr ? compare(*left, *right) : compare(as_double(a), as_double(b));
}

bool equal_sequences(Run& run, const Sequence& a, const Sequence& b) {
  if (&a == &b) return true;
  if (a.flavour != b.flavour || a.flavour == Flavour::generator || a.flavour == Flavour::view) return false;
  if (a.items.size() != b.items.size()) return false;
  for (std::size_t i = 0; i < a.items.size(); ++i)
    if (!equal(run, a.items[i], b.items[i])) return false;
  return true;
}

bool equal_mappings(Run& run, const Mapping& a, const Mapping& b) {
  if (a.members.size() != b.members.size()) return false;
  for (const auto& [key, value] : a.members) {
    const Value* other = member_of(run, b, key);
    if (other == nullptr || !equal(run, value, *other)) return false;
  }
  return true;
}

// Whether a < b, or a <= b with `or_equal`.
bool ordered(Run& run, const Value& a, const Value& b, bool or_equal) {
  run.charge(1);
  if (is_number(a) && is_number(b))
    return compare_numbers(a, b, [or_equal](auto x, auto y) { return or_equal ? x <= y : x < y; });
  const std::string *left = as_text(a), *right = as_text(b);
  if (left != nullptr && right != nullptr) return or_equal ? *left <= *right : *left < *right;  // as code points
  const Sequence *first = as_sequence(a), *second = as_sequence(b);
  if (first == nullptr || second == nullptr || first->flavour != second->flavour ||
      (first->flavour != Flavour::list && first->flavour != Flavour::tuple))
    fail_order(run, a, b);
  const std::size_t size = std::min(first->items.size(), second->items.size());
  for (std::size_t i = 0; i < size; ++i)
    if (!equal(run, first->items[i], second->items[i]))
      return ordered(run, first->items[i], second->items[i], or_equal);
  return or_equal ? first->items.size() <= second->items.size() : first->items.size() < second->items.size();
}

}  // namespace

bool equal(Run& run, const Value& a, const Value& b) {
  run.charge(1);
  if (is_number(a) && is_number(b)) return compare_numbers(a, b, [](auto x, auto y) { return x == y; });
  if (a.index() != b.index()) return false;
  if (is_undefined(a) || is_none(a)) return true;
  if (const std::string* text = as_text(a)) return *text == *as_text(b);
  if (const Sequence* sequence = as_sequence(a)) return equal_sequences(run, *sequence, *as_sequence(b));
  if (const Mapping* mapping = as_mapping(a)) return equal_mappings(run, *mapping, *as_mapping(b));
  if (const auto* space = std::get_if<Namespace*>(&a)) return *space == std::get<Namespace*>(b);
  if (const auto* macro = std::get_if<const Macro*>(&a)) return *macro == std::get<const Macro*>(b);
  return std::get<Function>(a) == std::get<Function>(b);
}

bool is_less(Run& run, const Value& a, const Value& b) { return ordered(run, a, b, false); }

bool contains(Run& run, const Value& container, const Value& item) {
  if (const std::string* text = as_text(container)) {
    const std::string* part = as_text(item);
    if (part == nullptr) run.fail(fmt::format("`in` of a string looks for a string, not {}", type_name(item)));
    run.charge_bytes(text->size());
    return text->find(*part) != text->npos;
  }
  if (const Mapping* mapping = as_mapping(container)) {
    check_key(run, item);
    return member_of(run, *mapping, item) != nullptr;
  }
  if (is_undefined(container)) return false;
  const Sequence* sequence = as_sequence(container);
  if (sequence == nullptr) run.fail(fmt::format("`in` of {}", type_name(container)));
  std::size_t i = sequence->consumed;
  const auto found = [&] {
    for (; i < sequence->items.size(); ++i)
      if (equal(run, sequence->items[i], item)) return ++i, true;
    return false;
  }();
  if (sequence->flavour == Flavour::generator) sequence->consumed = i;
  return found;
}

bool compare(Run& run, Comparison op, const Value& a, const Value& b) {
  switch (op) {
    case Comparison::equal: return equal(run, a, b);
    case Comparison::unequal: return !equal(run, a, b);
    case Comparison::less: return ordered(run, a, b, false);
    case Comparison::less_equal: return ordered(run, a, b, true);
    case Comparison::greater: return ordered(run, b, a, false);
    case Comparison::greater_equal: return ordered(run, b, a, true);
    case Comparison::in: return contains(run, b, a);
    case Comparison::not_in: break;
  }
  return !contains(run, b, a);
}

}  // namespace afore::nn::jinja
