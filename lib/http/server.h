#pragma once
// The HTTP/1.1 server in front of a Backend: OpenAI's routes, health, metrics and live records. One thread does all of
// the network, a few others parse bodies, render templates and tokenize, so that no body holds up an answer to /health.
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "http/backend.h"
#include "http/limits.h"

namespace afore::http {

struct ServerOptions {
  std::string host = "127.0.0.1";  // a numeric address, of IPv4 or IPv6
  int port = 0;                    // 0: any that is free
  std::string token{};             // of Authorization: Bearer; empty: none is asked for, and `host` must be a loopback
  Limits limits{};
  std::function<void(std::string_view line)> log{};  // what went wrong inside; called by any thread of the server
};

class Server {
 public:
  // Listens from here on, and answers from start() on. Error{usage} for an open address without a token or one that is
  // none, Error{io} when it cannot listen there. `backend` must outlive the server.
  Server(ServerOptions options, Backend& backend);
  ~Server();  // stop()

  int port() const;
  void start();

  // Accepts nothing new, is not ready, refuses new requests, and returns when every answer is written or after `limit`;
  // what is left then is cut off and cancelled.
  void drain(std::chrono::nanoseconds limit);
  // At once, also while another thread drains. The backend hears of every request that is cut off. Idempotent.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace afore::http
