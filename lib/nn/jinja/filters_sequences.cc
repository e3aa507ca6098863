// Filters of lists and mappings, and those of any value.
#include <fmt/format.h>

#include <algorithm>

#include "nn/jinja/builtins.h"
#include "nn/jinja/operators.h"
#include "nn/jinja/print.h"
#include "nn/jinja/python_text.h"

namespace afore::nn::jinja {
namespace {

Value length(Run& run, const Value& input, const Arguments&) {
  std::size_t size = 0;
  const Sequence* sequence = as_sequence(input);
  if (const std::string* text = as_text(input)) {
    run.charge_bytes(text->size());
    size = code_points(*text);
  } else if (const Mapping* mapping = as_mapping(input)) {
    size = mapping->members.size();
  } else if (sequence != nullptr && sequence->flavour != Flavour::generator) {
    size = sequence->items.size();
  } else if (!is_undefined(input)) {
    run.fail(fmt::format("length of {}", type_name(input)));
  }
  return static_cast<std::int64_t>(size);
}

Value list(Run& run, const Value& input, const Arguments&) { return run.list(iterate(run, input)); }

Value first(Run& run, const Value& input, const Arguments&) {
  const Sequence* sequence = as_sequence(input);
  if (sequence != nullptr && sequence->flavour == Flavour::generator) {
    if (sequence->consumed == sequence->items.size()) return Undefined{};
    return sequence->items[sequence->consumed++];
  }
  std::vector<Value> items = iterate(run, input);
  return items.empty() ? Value(Undefined{}) : items.front();
}

Value last(Run& run, const Value& input, const Arguments&) {
  const Sequence* sequence = as_sequence(input);
  if (sequence != nullptr && sequence->flavour == Flavour::generator) run.fail("last of a generator");
  std::vector<Value> items = iterate(run, input);
  return items.empty() ? Value(Undefined{}) : items.back();
}

Value reversed(Run& run, const Value& input, const Arguments&) {
  const Sequence* sequence = as_sequence(input);
  std::vector<Value> items = iterate(run, input);
  std::reverse(items.begin(), items.end());
  if (as_text(input) == nullptr) {
    const bool generator = sequence == nullptr || sequence->flavour != Flavour::generator;  // reversed() itself is one
    return run.sequence(generator ? Flavour::generator : Flavour::list, std::move(items));
  }
  std::string text;
  for (const Value& item : items) text += *as_text(item);
  return run.text(std::move(text));
}

Value join(Run& run, const Value& input, const Arguments& given) {
  const std::string between = given[0] == nullptr ? "" : str(run, *given[0]);
  std::string text;
  bool any = false;
  for (Value& item : iterate(run, input)) {
    if (given[1] != nullptr && !is_none(*given[1])) item = attribute_path(run, std::move(item), *given[1]);
    if (any) text += between;
    text += str(run, item);
    run.charge_bytes(between.size());
    if (text.size() > kMaxTextBytes) run.charge_bytes(text.size());  // says that it is too long
    any = true;
  }
  return run.text(std::move(text));
}

Value if_undefined(Run& run, const Value& input, const Arguments& given) {
  if (!is_undefined(input) && !(is_set(given[1]) && !truth(input))) return input;
  return given[0] == nullptr ? run.text("") : *given[0];
}

std::vector<Value> members_of(Run& run, const Mapping& mapping) {
  std::vector<Value> members;
  for (const auto& [key, value] : mapping.members) members.push_back(run.sequence(Flavour::tuple, {key, value}));
  return members;
}

Value items(Run& run, const Value& input, const Arguments&) {
  const Mapping* mapping = as_mapping(input);
  if (mapping == nullptr && !is_undefined(input)) run.fail(fmt::format("items of {}", type_name(input)));
  return run.sequence(Flavour::generator, mapping == nullptr ? std::vector<Value>{} : members_of(run, *mapping));
}

// What is compared: an attribute where one is named, text without its case.
Value key_of(Run& run, const Value& item, const Value* attribute, bool case_sensitive) {
  Value key = attribute == nullptr || is_none(*attribute) ? item : attribute_path(run, item, *attribute);
  const std::string* text = as_text(key);
  return text == nullptr || case_sensitive ? key : run.text(lower(*text));
}

struct Keyed {
  Value key, item;
};

std::vector<Value> sorted(Run& run, std::vector<Keyed> keyed, bool descending) {
  // Python keeps the order of equal items when sorting in reverse, too.
  std::stable_sort(keyed.begin(), keyed.end(), [&run, descending](const Keyed& a, const Keyed& b) {
    return descending ? is_less(run, b.key, a.key) : is_less(run, a.key, b.key);
  });
  std::vector<Value> result;
  for (Keyed& entry : keyed) result.push_back(std::move(entry.item));
  return result;
}

Value sort(Run& run, const Value& input, const Arguments& given) {
  std::vector<Keyed> keyed;
  for (Value& item : iterate(run, input)) {
    Value key = key_of(run, item, given[2], is_set(given[1]));
    keyed.push_back({std::move(key), std::move(item)});
  }
  if (given[2] != nullptr && as_text(*given[2]) != nullptr && as_text(*given[2])->find(',') != std::string::npos)
    run.fail("sort by several attributes is not computed");
  return run.list(sorted(run, std::move(keyed), is_set(given[0])));
}

Value sort_members(Run& run, const Value& input, const Arguments& given) {
  const Mapping* mapping = as_mapping(input);
  if (mapping == nullptr) run.fail(fmt::format("dictsort of {}", type_name(input)));
  const std::string by = given[1] == nullptr ? "key" : text_argument(run, "dictsort", *given[1]);
  if (by != "key" && by != "value") run.fail("dictsort by what is neither key nor value");
  std::vector<Keyed> keyed;
  for (const auto& [key, value] : mapping->members)
    keyed.push_back({key_of(run, by == "key" ? key : value, nullptr, is_set(given[0])),
                     run.sequence(Flavour::tuple, {key, value})});
  return run.list(sorted(run, std::move(keyed), is_set(given[2])));
}

Value unique(Run& run, const Value& input, const Arguments& given) {
  std::vector<Value> seen, kept;
  for (Value& item : iterate(run, input)) {
    Value key = key_of(run, item, given[1], is_set(given[0]));
    check_key(run, key);
    if (std::any_of(seen.begin(), seen.end(), [&](const Value& other) { return equal(run, key, other); })) continue;
    seen.push_back(std::move(key));
    kept.push_back(std::move(item));
  }
  return run.sequence(Flavour::generator, std::move(kept));
}

template <bool largest>
Value extreme(Run& run, const Value& input, const Arguments& given) {
  std::vector<Value> candidates = iterate(run, input);
  if (candidates.empty()) return Undefined{};
  std::size_t best = 0;
  Value best_key = key_of(run, candidates[0], given[1], is_set(given[0]));
  for (std::size_t i = 1; i < candidates.size(); ++i) {
    Value key = key_of(run, candidates[i], given[1], is_set(given[0]));
    if (largest ? !is_less(run, best_key, key) : !is_less(run, key, best_key)) continue;
    best = i;
    best_key = std::move(key);
  }
  return candidates[best];
}

Value sum(Run& run, const Value& input, const Arguments& given) {
  Value total = given[1] == nullptr ? Value(std::int64_t{0}) : *given[1];
  if (as_text(total) != nullptr) run.fail("sum of strings");
  for (Value& item : iterate(run, input)) {
    if (given[0] != nullptr && !is_none(*given[0])) item = attribute_path(run, std::move(item), *given[0]);
    total = compute(run, Operator::add, total, item);
  }
  return total;
}

constexpr Filter kSequenceFilters[] = {
    {{"length"}, length},
    {{"count"}, length},
    {{"list"}, list},
    {{"first"}, first},
    {{"last"}, last},
    {{"reverse"}, reversed},
    {{"join", 0, {"d", "attribute"}}, join},
    {{"default", 0, {"default_value", "boolean"}}, if_undefined},
    {{"d", 0, {"default_value", "boolean"}}, if_undefined},
    {{"items"}, items},
    {{"sort", 0, {"reverse", "case_sensitive", "attribute"}}, sort},
    {{"dictsort", 0, {"case_sensitive", "by", "reverse"}}, sort_members},
    {{"unique", 0, {"case_sensitive", "attribute"}}, unique},
    {{"min", 0, {"case_sensitive", "attribute"}}, extreme<false>},
    {{"max", 0, {"case_sensitive", "attribute"}}, extreme<true>},
    {{"sum", 0, {"attribute", "start"}}, sum},
};

}  // namespace

std::span<const Filter> sequence_filters() { return kSequenceFilters; }

}  // namespace afore::nn::jinja
