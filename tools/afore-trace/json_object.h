#pragma once
// A JSON object written key by key, in the order added.
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace afore::cli {

std::string json_string(std::string_view text);  // quoted and escaped
std::string json_array(const std::vector<int>& values);
std::string json_array(const std::vector<std::string>& texts);

class JsonObject {
 public:
  JsonObject& add(std::string_view key, std::string_view text) { return add_raw(key, json_string(text)); }
  JsonObject& add(std::string_view key, const char* text) { return add_raw(key, json_string(text)); }
  JsonObject& add(std::string_view key, double value);  // shortest form that reads back; null when not finite
  JsonObject& add(std::string_view key, std::integral auto value) { return add_raw(key, std::to_string(value)); }
  JsonObject& add_raw(std::string_view key, std::string_view json);
  std::string text() const { return "{" + members_ + "}"; }

 private:
  std::string members_;
};

}  // namespace afore::cli
