#include "wire/openai/messages.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

namespace afore::wire::openai {
namespace {

constexpr std::string_view kRoles[] = {"system", "developer", "user", "assistant", "tool"};

std::string read_role(JsonValue value) {
  const std::string_view role = value.string();
  if (std::find(std::begin(kRoles), std::end(kRoles), role) == std::end(kRoles))
    value.fail("unknown role " + in_quotes(role));
  return std::string(role);
}

std::string_view read_part(JsonValue value) {
  ObjectReader part(value);
  const JsonValue type = part.required("type");
  if (type.string() != "text") value.fail(in_quotes(type.string()) + " is not supported: content is text");
  return part.required("text").string();
}

std::string read_content(JsonValue value) {
  if (value.type() == JsonType::string) return std::string(value.string());
  if (value.type() != JsonType::array) value.fail("expected a string or a list of parts");
  if (value.size() == 0) value.fail("the list of parts is empty");
  std::string text;
  bool first = true;
  for (const JsonValue part : value) {
    if (!first) text += '\n';
    text += read_part(part);
    first = false;
  }
  return text;
}

nn::ChatMessage read_message(JsonValue value) {
  ObjectReader object(value);
  nn::ChatMessage message;
  message.role = read_role(object.required("role"));
  const JsonValue content = object.find("content");
  const bool silent = !content || content.is_null();
  if (!silent) message.content = read_content(content);
  else if (message.role != "assistant") object.required("content").fail("expected a string or a list of parts");
  const JsonValue calls = object.find("tool_calls");
  if (calls && !calls.is_null() && !(calls.type() == JsonType::array && calls.size() == 0))
    calls.fail("not supported: the model calls no tools");
  return message;
}

}  // namespace

Messages read_messages(JsonValue value) {
  value.expect(JsonType::array);
  if (value.size() == 0) value.fail("there is no message");
  Messages messages;
  messages.reserve(value.size());
  for (const JsonValue message : value) messages.push_back(read_message(message));
  return messages;
}

}  // namespace afore::wire::openai
