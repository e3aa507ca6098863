#include "http/front.h"

#include "http/auth.h"

namespace afore::http {
namespace {

std::optional<Answer> without_access(const Request& request, Route route, const std::string& token) {
  if (route == Route::health) return {};
  if (token.empty()) {
    // Pages of any site may send requests to a loopback address, and nothing else would stop them.
    if (request.from_page) return error_answer(403, "requests of web pages need a server with a token");
    return {};
  }
  if (bears_token(request.authorization, token)) return {};
  Answer answer = error_answer(401, "the token is missing or wrong", "invalid_api_key");
  answer.fields = "www-authenticate: Bearer\r\n";
  return answer;
}

std::optional<Answer> without_route(const Routed& routed) {
  if (routed.status == 404) return error_answer(404, "there is no such path");
  if (routed.status != 405) return {};
  Answer answer = error_answer(405, "the path does not take this method");
  answer.fields = std::string("allow: ") + routed.allow + "\r\n";
  return answer;
}

}  // namespace

Front look_at(const Request& request, const std::string& token) {
  const Routed routed = route(request.method, request.path);
  // Who may not ask is not told what paths there are.
  Front front{routed.route, without_access(request, routed.status == 200 ? routed.route : Route::models, token)};
  if (!front.answer) front.answer = without_route(routed);
  // Whoever is answered before the body came may not send it any more.
  if (front.answer && request.has_body) front.answer->close = true;
  return front;
}

Answer refusal_answer(const Refusal& refusal) {
  Answer answer = error_answer(refusal.status, refusal.why);
  answer.close = true;
  return answer;
}

}  // namespace afore::http
