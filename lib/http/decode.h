#pragma once
// Bodies to what is asked of the model, or to an answer. Long work on long bodies: not for the network's thread.
#include <cstdint>
#include <variant>

#include "host/prompt.h"
#include "http/answer.h"
#include "http/backend.h"
#include "wire/openai/request.h"
#include "wire/openai/response.h"

namespace afore::http {

struct GenerationRequest {
  wire::openai::Kind kind{};
  wire::openai::Delivery delivery{};
  host::Prompt prompt{};
  std::int64_t max_tokens = 0;
};

using Decoded = std::variant<Answer, GenerationRequest>;

// For the routes with a body. `seed` is for requests that name none. Thread-safe; throws nothing that is the body's
// fault.
Decoded decode(Route route, std::string_view body, Backend& backend, std::uint64_t seed);

}  // namespace afore::http
