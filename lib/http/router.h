#pragma once
// Which paths there are, and what may be asked of each.
#include <string_view>

#include "http/request.h"

namespace afore::http {

enum class Route {
  models,
  completions,
  chat_completions,
  tokenize,
  detokenize,
  health,
  ready,
  metrics,
  demand,
  placement,
  freeze,
  policy,
  server_info,
  flush_cache,
};

struct Routed {
  int status = 200;        // or 404, 405
  Route route{};           // with 200
  const char* allow = "";  // with 405
};
Routed route(Method method, std::string_view path);

}  // namespace afore::http
