#include "json_object.h"

#include <fmt/core.h>

#include <cmath>

namespace afore::cli {

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<int>(c));
    } else {
      out += c;
    }
  }
  out += '"';
  return out;
}

std::string json_array(const std::vector<int>& values) {
  std::string out = "[";
  for (const int value : values) {
    if (out.size() > 1) out += ',';
    out += std::to_string(value);
  }
  return out + "]";
}

std::string json_array(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (const std::string& text : texts) {
    if (out.size() > 1) out += ',';
    out += json_string(text);
  }
  return out + "]";
}

JsonObject& JsonObject::add(std::string_view key, double value) {
  return add_raw(key, std::isfinite(value) ? fmt::format("{}", value) : "null");
}

JsonObject& JsonObject::add_raw(std::string_view key, std::string_view json) {
  if (!members_.empty()) members_ += ',';
  members_ += json_string(key);
  members_ += ':';
  members_ += json;
  return *this;
}

}  // namespace afore::cli
