#include "http/router.h"

#include <algorithm>
#include <iterator>

namespace afore::http {
namespace {

struct Path {
  std::string_view path;
  Method method;
  Route route;
};
constexpr Path kPaths[] = {
    {"/v1/models", Method::get, Route::models},
    {"/v1/completions", Method::post, Route::completions},
    {"/v1/chat/completions", Method::post, Route::chat_completions},
    {"/tokenize", Method::post, Route::tokenize},
    {"/detokenize", Method::post, Route::detokenize},
    {"/health", Method::get, Route::health},
    {"/health/ready", Method::get, Route::ready},
    {"/metrics", Method::get, Route::metrics},
    {"/v1/afore/demand", Method::get, Route::demand},
    {"/v1/afore/placement", Method::get, Route::placement},
    {"/v1/afore/freeze", Method::post, Route::freeze},
    {"/v1/afore/policy", Method::post, Route::policy},
    // What SGLang's benchmark calls before and after a run.
    {"/get_server_info", Method::get, Route::server_info},
    {"/flush_cache", Method::post, Route::flush_cache},
};

}  // namespace

Routed route(Method method, std::string_view path) {
  const auto* const found =
      std::find_if(std::begin(kPaths), std::end(kPaths), [&](const Path& p) { return p.path == path; });
  if (found == std::end(kPaths)) return {.status = 404};
  if (method == Method::head) method = Method::get;
  if (method == found->method) return {.route = found->route};
  return {.status = 405, .allow = found->method == Method::get ? "GET, HEAD" : "POST"};
}

}  // namespace afore::http
