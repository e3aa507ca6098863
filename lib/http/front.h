#pragma once
// What a request's header decides, before its body is read.
#include <optional>
#include <string>

#include "http/answer.h"
#include "http/request.h"
#include "http/request_parser.h"
#include "http/router.h"

namespace afore::http {

// `route` where the request goes on; else the answer.
struct Front {
  Route route{};
  std::optional<Answer> answer;
};
Front look_at(const Request& request, const std::string& token);

Answer refusal_answer(const Refusal& refusal);  // closes: what follows is not known

}  // namespace afore::http
