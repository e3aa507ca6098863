#pragma once
// JSON of model folders: config.json, tokenizer.json, the headers of safetensors. Parsed with duplicate keys refused,
// read through views whose errors are one line with file, place and value. nlohmann's types stay within this room.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace afore::nn {

using Json = nlohmann::json;

// Error{data} for text that is not JSON, nests deeper than 64 levels or has a key twice in one object.
Json parse_json(std::string_view text, const std::string& source);

// In double quotes, shortened and escaped, for messages.
std::string quote(std::string_view text);

// A value and where it stands. The tree must outlive it.
class JsonView {
 public:
  JsonView(const Json& value, std::string source) : value_(&value), source_(std::move(source)) {}

  explicit operator bool() const { return value_ != nullptr && !value_->is_null(); }
  bool is_null() const { return value_ != nullptr && value_->is_null(); }
  const Json& json() const { return *value_; }  // of a view that is present

  // Of an object, else Error{data}.
  JsonView find(std::string_view key) const;  // absent, or null: a false view
  JsonView at(std::string_view key) const;    // absent: Error{data}
  // Of an array, else Error{data}.
  std::size_t size() const;
  JsonView item(std::size_t i) const;

  bool is_string() const { return *this && value_->is_string(); }
  bool is_array() const { return *this && value_->is_array(); }
  bool is_object() const { return *this && value_->is_object(); }
  // Error{data} for another type or a value out of range; those with a default give it where the view is false.
  std::int64_t integer(std::int64_t min, std::int64_t max) const;
  std::int64_t integer(std::int64_t min, std::int64_t max, std::int64_t if_absent) const;
  double number() const;
  double number(double if_absent) const { return *this ? number() : if_absent; }
  bool boolean() const;
  bool boolean(bool if_absent) const { return *this ? boolean() : if_absent; }
  const std::string& string() const;

  std::string shown() const;  // the value in messages
  // "SOURCE: PLACE: FACT"
  [[noreturn]] void fail(const std::string& fact, const std::string& hint = "") const;

 private:
  JsonView(const Json* value, const std::string& source, std::string path)
      : value_(value), source_(source), path_(std::move(path)) {}
  JsonView child(std::string_view key) const;
  [[noreturn]] void fail_type(const char* expected) const;

  const Json* value_;
  std::string source_;
  std::string path_;  // JSON pointer, "" for the root
};

}  // namespace afore::nn
