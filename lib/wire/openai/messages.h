#pragma once
#include "wire/json_tree.h"
#include "wire/openai/request.h"

namespace afore::wire::openai {

// A list of chat messages, which is not empty. Texts of a message's parts are joined by line ends.
Messages read_messages(JsonValue value);

}  // namespace afore::wire::openai
