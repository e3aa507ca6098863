// Items, slices and what can be gone through.
#include <fmt/format.h>

#include <algorithm>

#include "nn/jinja/operators.h"
#include "nn/jinja/python_text.h"

namespace afore::nn::jinja {
namespace {

struct Bounds {
  std::int64_t start, stop, step;
};

// Python's slice.indices(size).
Bounds bounds_of(Run& run, std::int64_t size, const Value& start, const Value& stop, const Value& step) {
  const auto integer = [&run](const Value& value, std::int64_t if_none) {
    std::int64_t room = if_none;
    if (!is_none(value) && as_integer(value, room) == nullptr)
      run.fail(fmt::format("{} as a bound of a slice", type_name(value)));
    return room;
  };
  const std::int64_t by = integer(step, 1);
  if (by == 0) run.fail("the step of a slice is zero");
  const std::int64_t low = by < 0 ? -1 : 0, high = by < 0 ? size - 1 : size;
  const auto clamped = [&](const Value& bound, std::int64_t if_none) {
    if (is_none(bound)) return if_none;
    const std::int64_t at = integer(bound, 0);
    return std::clamp(at < 0 ? (at < -size ? -1 : at + size) : at, low, high);
  };
  return {clamped(start, by < 0 ? high : low), clamped(stop, by < 0 ? low : high), by};
}

template <class Take>
void for_each_index(const Bounds& bounds, Take&& take) {
  const std::int64_t size = bounds.step > 0 ? bounds.stop - bounds.start : bounds.start - bounds.stop;
  if (size <= 0) return;
  // Without the sum start + step, which may not fit.
  const std::uint64_t stride =
      bounds.step > 0 ? static_cast<std::uint64_t>(bounds.step) : 0 - static_cast<std::uint64_t>(bounds.step);
  const std::uint64_t times = (static_cast<std::uint64_t>(size) - 1) / stride + 1;
  for (std::uint64_t i = 0; i < times; ++i)
    take(static_cast<std::size_t>(bounds.start + static_cast<std::int64_t>(i) * bounds.step));
}

// Where `key` is an index within `size`.
bool index_of(const Value& key, std::size_t size, std::size_t& at) {
  std::int64_t index = 0;
  if (as_integer(key, index) == nullptr) return false;
  if (index < 0) index += static_cast<std::int64_t>(size);
  if (index < 0 || index >= static_cast<std::int64_t>(size)) return false;
  at = static_cast<std::size_t>(index);
  return true;
}

}  // namespace

const Value* member_of(Run& run, const Mapping& mapping, const Value& key) {
  for (const auto& [name, value] : mapping.members)
    if (equal(run, name, key)) return &value;
  return nullptr;
}

Value item_of(Run& run, const Value& value, const Value& key, int name) {
  std::size_t at = 0;
  if (const Mapping* mapping = as_mapping(value)) {
    const Value* found = member_of(run, *mapping, key);
    if (found != nullptr) return *found;
  } else if (const Sequence* sequence = as_sequence(value)) {
    const bool indexed = sequence->flavour != Flavour::view && sequence->flavour != Flavour::generator;
    if (indexed && index_of(key, sequence->items.size(), at)) return sequence->items[at];
  } else if (const std::string* text = as_text(value)) {
    std::int64_t room = 0;
    if (as_integer(key, room) == nullptr) return Undefined{name};
    run.charge_bytes(text->size());
    const auto parts = characters(*text);
    if (index_of(key, parts.size(), at)) return run.text(std::string(parts[at]));
  }
  return Undefined{name};
}

Value slice(Run& run, const Value& value, const Value& start, const Value& stop, const Value& step) {
  if (const std::string* text = as_text(value)) {
    run.charge_bytes(text->size());
    const auto parts = characters(*text);
    std::string result;
    for_each_index(bounds_of(run, static_cast<std::int64_t>(parts.size()), start, stop, step),
                   [&](std::size_t i) { result += parts[i]; });
    return run.text(std::move(result));
  }
  const Sequence* sequence = as_sequence(value);
  if (sequence == nullptr || sequence->flavour == Flavour::view || sequence->flavour == Flavour::generator)
    run.fail(fmt::format("a slice of {}", type_name(value)));
  std::vector<Value> items;
  for_each_index(bounds_of(run, static_cast<std::int64_t>(sequence->items.size()), start, stop, step),
                 [&](std::size_t i) { items.push_back(sequence->items[i]); });
  return run.sequence(sequence->flavour, std::move(items));
}

std::vector<Value> iterate(Run& run, const Value& value) {
  std::vector<Value> items;
  if (const Sequence* sequence = as_sequence(value)) {
    items.assign(sequence->items.begin() + static_cast<std::ptrdiff_t>(sequence->consumed), sequence->items.end());
    if (sequence->flavour == Flavour::generator) sequence->consumed = sequence->items.size();
  } else if (const Mapping* mapping = as_mapping(value)) {
    for (const auto& member : mapping->members) items.push_back(member.first);
  } else if (const std::string* text = as_text(value)) {
    run.charge_bytes(text->size());
    run.charge(4 * text->size());  // each becomes a string of its own
    for (const std::string_view part : characters(*text)) items.push_back(run.text(std::string(part)));
  } else if (!is_undefined(value)) {
    run.fail(fmt::format("{} cannot be gone through", type_name(value)));
  }
  run.charge(items.size());
  return items;
}

void check_key(Run& run, const Value& key) {
  const Sequence* sequence = as_sequence(key);
  if (as_mapping(key) != nullptr || (sequence != nullptr && sequence->flavour == Flavour::list))
    run.fail(fmt::format("{} as a key of a mapping", type_name(key)));
  if (sequence != nullptr)
    for (const Value& item : sequence->items) check_key(run, item);
}

void insert(Run& run, std::vector<std::pair<Value, Value>>& members, Value key, Value value) {
  check_key(run, key);
  for (auto& [name, held] : members) {
    if (!equal(run, name, key)) continue;
    held = std::move(value);
    return;
  }
  members.emplace_back(std::move(key), std::move(value));
}

}  // namespace afore::nn::jinja
