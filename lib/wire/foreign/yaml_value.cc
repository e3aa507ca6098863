// Reading values of a YamlTree.
#include <fmt/format.h>

#include <charconv>

#include "util/error.h"
#include "wire/foreign/yaml_tree.h"
#include "wire/json_tree.h"

namespace afore::wire {
namespace {

const char* name_of(YamlType type) {
  switch (type) {
    case YamlType::scalar: return "a scalar";
    case YamlType::sequence: return "a sequence";
    case YamlType::mapping: return "a mapping";
  }
  return "?";
}

}  // namespace

YamlType YamlValue::type() const { return tree_->nodes_[at_].type; }
std::int64_t YamlValue::line() const { return tree_->nodes_[at_].line; }

YamlValue::Iterator::Iterator(const YamlTree* tree, std::uint32_t at, bool mapping)
    : tree_(tree), at_(at), mapping_(mapping) {}

YamlValue::Iterator& YamlValue::Iterator::operator++() {
  at_ = tree_->nodes_[at_].end + (mapping_ ? 1 : 0);
  return *this;
}

YamlValue::Iterator YamlValue::begin() const {
  const bool mapping = type() == YamlType::mapping;
  return {tree_, at_ + 1 + (mapping ? 1 : 0), mapping};
}

YamlValue::Iterator YamlValue::end() const {
  const bool mapping = type() == YamlType::mapping;
  return {tree_, tree_->nodes_[at_].end + (mapping ? 1 : 0), mapping};
}

YamlValue YamlValue::key_value() const { return {tree_, at_ - 1}; }

void YamlValue::expect(YamlType wanted) const {
  if (type() != wanted) fail(std::string("expected ") + name_of(wanted) + ", found " + name_of(type()));
}

std::size_t YamlValue::size() const { return type() == YamlType::scalar ? 0 : tree_->nodes_[at_].text_bytes; }

std::string_view YamlValue::text() const {
  expect(YamlType::scalar);
  return tree_->text_of(at_);
}

bool YamlValue::is_null() const {
  if (type() != YamlType::scalar || !tree_->nodes_[at_].plain) return false;
  const std::string_view plain = tree_->text_of(at_);
  return plain.empty() || plain == "~" || plain == "null";
}

std::int64_t YamlValue::integer(std::int64_t min, std::int64_t max, const char* noun) const {
  const std::string_view digits = text();
  const std::string_view size = digits.substr(digits.starts_with('-') ? 1 : 0);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool decimal = tree_->nodes_[at_].plain && !size.empty() && end == digits.data() + digits.size() &&
                       error != std::errc::invalid_argument && (size == "0" || size[0] != '0');
  if (!decimal) fail(fmt::format("{} {} is no decimal integer", noun, in_quotes(digits)));
  if (error != std::errc() || value < min || value > max)
    fail(fmt::format("{} {} is outside {} to {}", noun, in_quotes(digits), min, max));
  return value;
}

YamlValue YamlValue::find(std::string_view key) const {
  expect(YamlType::mapping);
  for (const YamlValue member : *this)
    if (member.key() == key) return member;
  return {};
}

std::string YamlValue::place() const {
  std::string path;
  std::uint32_t node = 0;
  while (node != at_) {
    const bool mapping = tree_->nodes_[node].type == YamlType::mapping;
    std::uint32_t child = node + 1;
    std::size_t position = 0;
    for (; tree_->nodes_[child].end <= at_; ++position) child = tree_->nodes_[child].end;
    // In a mapping keys and values alternate; a key is named by itself.
    if (mapping) append_path(path, tree_->text_of(position % 2 == 0 ? child : child - 1));
    else append_path(path, std::to_string(position));
    node = child;
  }
  return fmt::format("{}:{}{}", tree_->source_, line(), path.empty() ? "" : ": " + path);
}

void YamlValue::fail(const std::string& fact, const std::string& hint) const {
  throw Error(ErrorKind::data, place() + ": " + fact, hint);
}

}  // namespace afore::wire
