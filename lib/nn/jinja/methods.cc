// Methods of Python's strings, lists and mappings.
#include <fmt/format.h>

#include <algorithm>

#include "nn/jinja/builtins.h"
#include "nn/jinja/numbers.h"
#include "nn/jinja/operators.h"
#include "nn/jinja/print.h"
#include "nn/jinja/python_text.h"

namespace afore::nn::jinja {
namespace {

const std::string& text_of(Run& run, std::string_view method, const Value& object) {
  const std::string* text = as_text(object);
  if (text == nullptr) run.fail(fmt::format("{} has no method {}", type_name(object), method));
  run.charge_bytes(text->size());
  return *text;
}

const Mapping& mapping_of(Run& run, std::string_view method, const Value& object) {
  const Mapping* mapping = as_mapping(object);
  if (mapping == nullptr) run.fail(fmt::format("{} has no method {}", type_name(object), method));
  return *mapping;
}

// Null for none and for what is not given.
const std::string* optional_text(Run& run, std::string_view method, const Value* value) {
  return value == nullptr || is_none(*value) ? nullptr : &text_argument(run, method, *value);
}

Value texts(Run& run, const std::vector<std::string_view>& parts) {
  std::vector<Value> items;
  run.charge(parts.size());
  for (const std::string_view part : parts) items.push_back(run.text(std::string(part)));
  return run.list(std::move(items));
}

template <bool left, bool right>
Value stripped(Run& run, const Value& object, const Arguments& given) {
  const std::string& text = text_of(run, "strip", object);
  const std::string* chars = optional_text(run, "strip", given[0]);
  run.charge(chars == nullptr ? 0 : text.size() / 32 * chars->size());
  return run.text(std::string(strip(text, chars, left, right)));
}

template <auto cut>
Value parted(Run& run, const Value& object, const Arguments& given) {
  const std::string& text = text_of(run, "split", object);
  const std::string* separator = optional_text(run, "split", given[0]);
  if (separator != nullptr && separator->empty()) run.fail("split at an empty string");
  return texts(run, cut(text, separator, integer_argument(run, "split", given[1], -1)));
}

Value lines(Run& run, const Value& object, const Arguments& given) {
  return texts(run, split_lines(text_of(run, "splitlines", object), given[0] != nullptr && truth(*given[0])));
}

template <bool at_end>
Value begins(Run& run, const Value& object, const Arguments& given) {
  const char* method = at_end ? "endswith" : "startswith";
  const std::string& text = text_of(run, method, object);
  const auto holds = [&](const Value& part) {
    const std::string& wanted = text_argument(run, method, part);
    return at_end ? text.ends_with(wanted) : text.starts_with(wanted);
  };
  const Sequence* any = as_sequence(*given[0]);
  if (any == nullptr || any->flavour != Flavour::tuple) return holds(*given[0]);
  return std::any_of(any->items.begin(), any->items.end(), holds);
}

Value replaced_of(Run& run, const Value& object, const Arguments& given) {
  const std::string& text = text_of(run, "replace", object);
  return replace_text(run, text, text_argument(run, "replace", *given[0]), text_argument(run, "replace", *given[1]),
                      integer_argument(run, "replace", given[2], -1));
}

template <std::string (*change)(std::string_view)>
Value changed_of(Run& run, const Value& object, const Arguments&) {
  const std::string& text = text_of(run, "upper, lower, title or capitalize", object);
  run.charge(text.size() / 8);
  return run.text(change(text));
}

template <bool last>
Value found(Run& run, const Value& object, const Arguments& given) {
  const std::string &text = text_of(run, "find", object), &part = text_argument(run, "find", *given[0]);
  const std::size_t at = last ? text.rfind(part) : text.find(part);
  return at == text.npos ? std::int64_t{-1} : static_cast<std::int64_t>(code_points(text.substr(0, at)));
}

Value counted(Run& run, const Value& object, const Arguments& given) {
  if (as_text(object) != nullptr)
    return static_cast<std::int64_t>(count(text_of(run, "count", object), text_argument(run, "count", *given[0])));
  const Sequence* sequence = as_sequence(object);
  if (sequence == nullptr || sequence->flavour == Flavour::view || sequence->flavour == Flavour::generator)
    run.fail(fmt::format("{} has no method count", type_name(object)));
  return static_cast<std::int64_t>(std::count_if(sequence->items.begin(), sequence->items.end(),
                                                 [&](const Value& item) { return equal(run, item, *given[0]); }));
}

Value joined(Run& run, const Value& object, const Arguments& given) {
  const std::string& between = text_of(run, "join", object);
  std::string text;
  const std::vector<Value> items = iterate(run, *given[0]);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) text += between;
    text += text_argument(run, "join", items[i]);
    run.charge_bytes(between.size() + as_text(items[i])->size());
    if (text.size() > kMaxTextBytes) run.charge_bytes(text.size());  // says that it is too long
  }
  return run.text(std::move(text));
}

template <bool suffix>
Value without(Run& run, const Value& object, const Arguments& given) {
  std::string_view text = text_of(run, "removeprefix or removesuffix", object);
  const std::string& part = text_argument(run, "removeprefix or removesuffix", *given[0]);
  if (suffix && text.ends_with(part)) text.remove_suffix(part.size());
  if (!suffix && text.starts_with(part)) text.remove_prefix(part.size());
  return run.text(std::string(text));
}

Value keys(Run& run, const Value& object, const Arguments&) {
  std::vector<Value> result;
  for (const auto& [key, value] : mapping_of(run, "keys", object).members) result.push_back(key);
  return run.sequence(Flavour::view, std::move(result));
}

Value values(Run& run, const Value& object, const Arguments&) {
  std::vector<Value> result;
  for (const auto& [key, value] : mapping_of(run, "values", object).members) result.push_back(value);
  return run.sequence(Flavour::view, std::move(result));
}

Value items_of(Run& run, const Value& object, const Arguments&) {
  std::vector<Value> result;
  for (const auto& [key, value] : mapping_of(run, "items", object).members)
    result.push_back(run.sequence(Flavour::tuple, {key, value}));
  return run.sequence(Flavour::view, std::move(result));
}

Value got(Run& run, const Value& object, const Arguments& given) {
  const Mapping& mapping = mapping_of(run, "get", object);
  check_key(run, *given[0]);
  const Value* member = member_of(run, mapping, *given[0]);
  if (member != nullptr) return *member;
  return given[1] == nullptr ? Value(None{}) : *given[1];
}

// Known, so that a template may have them where it does not come by.
Value refused(Run& run, const Value& object, const Arguments&) {
  run.fail(fmt::format("a method that would change {}: templates may not", type_name(object)));
}

constexpr Method kMethods[] = {
    {{"strip", 0, {"chars"}}, stripped<true, true>},
    {{"lstrip", 0, {"chars"}}, stripped<true, false>},
    {{"rstrip", 0, {"chars"}}, stripped<false, true>},
    {{"split", 0, {"sep", "maxsplit"}}, parted<split>},
    {{"rsplit", 0, {"sep", "maxsplit"}}, parted<split_right>},
    {{"splitlines", 0, {"keepends"}}, lines},
    {{"startswith", 1, {"prefix"}}, begins<false>},
    {{"endswith", 1, {"suffix"}}, begins<true>},
    {{"replace", 2, {"old", "new", "count"}}, replaced_of},
    {{"upper"}, changed_of<upper>},
    {{"lower"}, changed_of<lower>},
    {{"title"}, changed_of<title>},
    {{"capitalize"}, changed_of<capitalize>},
    {{"find", 1, {"sub"}}, found<false>},
    {{"rfind", 1, {"sub"}}, found<true>},
    {{"count", 1, {"sub"}}, counted},
    {{"join", 1, {"iterable"}}, joined},
    {{"removeprefix", 1, {"prefix"}}, without<false>},
    {{"removesuffix", 1, {"suffix"}}, without<true>},
    {{"keys"}, keys},
    {{"values"}, values},
    {{"items"}, items_of},
    {{"get", 1, {"key", "default"}}, got},
    {{"append", 0, {"a", "b", "c", "d"}}, refused},
    {{"extend", 0, {"a", "b", "c", "d"}}, refused},
    {{"insert", 0, {"a", "b", "c", "d"}}, refused},
    {{"pop", 0, {"a", "b", "c", "d"}}, refused},
    {{"update", 0, {"a", "b", "c", "d"}}, refused},
    {{"setdefault", 0, {"a", "b", "c", "d"}}, refused},
    {{"clear"}, refused},
};

}  // namespace

const Method* find_method(std::string_view name) {
  for (const Method& method : kMethods)
    if (method.name == name) return &method;
  return nullptr;
}

}  // namespace afore::nn::jinja
