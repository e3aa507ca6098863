#pragma once
// A request as the server's other parts see it.
#include <cstdint>
#include <string>

namespace afore::http {

enum class Method { get, head, post, other };

struct Request {
  Method method = Method::other;
  std::string path;           // of the target, without the query, as sent
  std::string authorization;  // fields that matter here; empty: not sent
  std::string request_id;
  bool from_page = false;  // a browser's page sent it: there is an Origin
  bool http10 = false;
  bool keep_alive = true;
  bool expects_continue = false;
  bool has_body = false;
  std::string body;
};

}  // namespace afore::http
