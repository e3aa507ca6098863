#pragma once
// How bodies are read: member by member, with the key's name on whatever is wrong below it.
#include <string>
#include <string_view>

#include "wire/json_tree.h"
#include "wire/openai/request.h"

namespace afore::wire::openai {

// Runs `act`; what it finds wrong becomes a BadRequest of `param`.
template <class Act>
void blame(std::string_view param, Act&& act) {
  try {
    act();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::data) throw;
    throw BadRequest(error.what(), param);
  }
}

// For what is known only when all members are read.
[[noreturn]] inline void fail_at(const std::string& key, const std::string& fact) {
  throw BadRequest("body: /" + key + ": " + fact, key);
}

// Calls read(member) for every member of the body that is not null.
template <class Read>
void read_members(std::string_view body, Read&& read) {
  JsonTree tree(JsonTree::Integers::int64);
  JsonValue root;
  blame("", [&] {
    if (body.find_first_not_of(" \t\r\n") == body.npos) throw Error(ErrorKind::data, "body: it is empty");
    root = tree.parse(body, "body");
    root.expect(JsonType::object);
  });
  for (const JsonValue member : root)
    if (!member.is_null()) blame(member.key(), [&] { read(member); });
}

}  // namespace afore::wire::openai
