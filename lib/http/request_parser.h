#pragma once
// Bytes to a request, within limits. The only unit that knows Beast.
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "http/limits.h"
#include "http/request.h"

namespace afore::http {

// Why bytes are no request that is served: a status and a sentence for the client. Status 0: nothing is wrong.
struct Refusal {
  int status = 0;
  const char* why = "";
};

class RequestParser {
 public:
  enum class State { header, body, done, refused };

  explicit RequestParser(const Limits& limits);
  ~RequestParser();

  // Takes bytes off the front of `bytes` and returns how many. It stops where the header ends, so that the request can
  // be looked at before its body is read, and where the request ends. What it leaves must be there again next time.
  std::size_t feed(std::string_view bytes);

  State state() const;
  const Refusal& refusal() const;
  // The header's fields from State::body on, the body in State::done.
  Request& request();
  std::size_t declared_body_bytes() const;  // of Content-Length; 0 without one

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace afore::http
