#include <bit>
#include <cmath>

#include "util/error.h"
#include "wire/json_tree.h"
#include "wire/json_writer.h"

namespace afore::wire {
namespace {

constexpr std::size_t kShownBytes = 48;  // of a key or string in a message

const char* name_of(JsonType type) {
  switch (type) {
    case JsonType::null: return "null";
    case JsonType::boolean: return "a boolean";
    case JsonType::integer: return "an integer";
    case JsonType::real: return "a fractional number";
    case JsonType::string: return "a string";
    case JsonType::array: return "an array";
    case JsonType::object: return "an object";
  }
  return "?";
}

std::string shortened(std::string_view text) {
  if (text.size() <= kShownBytes) return std::string(text);
  std::size_t end = kShownBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // not inside a UTF-8 sequence
  return std::string(text.substr(0, end)) + "...";
}

}  // namespace

std::string in_quotes(std::string_view text) {
  std::string out;
  append_string(out, shortened(text));
  return out;
}

void append_path(std::string& path, std::string_view key) {
  std::string escaped;
  for (const char c : shortened(key)) {
    if (c == '~') escaped += "~0";
    else if (c == '/') escaped += "~1";
    else escaped += c;
  }
  const std::string text = in_quotes(escaped);
  path += '/';
  path += std::string_view(text).substr(1, text.size() - 2);
}

std::string JsonValue::path() const {
  std::string path;
  std::uint32_t node = 0;
  while (node != at_) {
    const bool in_object = tree_->nodes_[node].type() == JsonType::object;
    std::uint32_t child = node + 1;
    std::int64_t position = 0;
    while (tree_->nodes_[child].end <= at_) {
      child = tree_->nodes_[child].end;
      ++position;
    }
    append_path(path, in_object ? std::string(tree_->key_of(child)) : std::to_string(position));
    node = child;
  }
  return path;
}

void JsonValue::fail(const std::string& fact, const std::string& hint, std::optional<std::string_view> below) const {
  std::string at = path();
  if (below) append_path(at, *below);
  tree_->fail(at, fact, hint);
}

void JsonValue::fail_type(const char* expected) const {
  std::string found = name_of(type());
  if (type() == JsonType::real) {
    const double value = std::bit_cast<double>(tree_->nodes_[at_].value);
    if (value == 0 && std::signbit(value)) found = "-0";
    else append_double(found = "", value);
  }
  fail(std::string("expected ") + expected + ", found " + found);
}

void JsonValue::check_range(std::int64_t value, std::int64_t min, std::int64_t max, const char* noun) const {
  const std::string name(noun);
  if (value < 0 && min == 0) fail(name + " is negative");
  if (value < min) fail(name + " " + std::to_string(value) + " is below " + std::to_string(min));
  if (value > max) fail(name + " " + std::to_string(value) + " is above " + std::to_string(max));
}

int JsonValue::index(std::int64_t end, const char* noun) const {
  const std::int64_t value = integer(0, kMaxInteger, noun);
  if (value >= end)
    fail(std::string(noun) + " " + std::to_string(value) + " is out of range, there are " + std::to_string(end));
  return static_cast<int>(value);
}

std::int64_t JsonValue::integral(std::int64_t min, std::int64_t max, const char* noun) const {
  if (type() != JsonType::real) return integer(min, max, noun);
  const double value = std::bit_cast<double>(tree_->nodes_[at_].value);
  if (value != std::floor(value)) fail_type("a whole number");
  if (std::abs(value) > static_cast<double>(kMaxInteger)) fail(std::string(noun) + " is beyond 2^53");
  const auto whole = static_cast<std::int64_t>(value);
  check_range(whole, min, max, noun);
  return whole;
}

double JsonValue::number() const {
  if (type() == JsonType::integer) return static_cast<double>(tree_->nodes_[at_].value);
  if (type() != JsonType::real) fail_type("a number");
  return std::bit_cast<double>(tree_->nodes_[at_].value);
}

bool JsonValue::boolean() const {
  expect(JsonType::boolean);
  return tree_->nodes_[at_].value != 0;
}

std::string_view JsonValue::string() const {
  expect(JsonType::string);
  return tree_->text_of(static_cast<std::uint64_t>(tree_->nodes_[at_].value));
}

void JsonValue::expect(JsonType expected) const {
  if (type() != expected) fail_type(name_of(expected));
}

std::size_t JsonValue::size() const { return static_cast<std::size_t>(tree_->nodes_[at_].value); }

ObjectReader::ObjectReader(JsonValue object) : object_(object), next_(object.begin()) {
  object.expect(JsonType::object);
}

JsonValue ObjectReader::find(std::string_view key) {
  const auto start = next_;
  auto at = start;
  for (; at != object_.end(); ++at) {
    if ((*at).key() != key) continue;
    next_ = at;
    ++next_;
    return *at;
  }
  for (at = object_.begin(); at != start; ++at) {
    if ((*at).key() != key) continue;
    next_ = at;
    ++next_;
    return *at;
  }
  return {};
}

JsonValue ObjectReader::required(std::string_view key) {
  const JsonValue found = find(key);
  if (!found) object_.fail("the key is missing", "", key);
  return found;
}

}  // namespace afore::wire
